/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * seccomp - filters in the program, so that only calls that matter stop
 *
 * Without them each system call stops twice while pages are closed.  A filter
 * is put in when so many calls were seen that it would have spared, and for
 * good: whoever has one stays attached until its end (idle.h).  So there is
 * none in a program that forks first, nor where the kernel would want
 * no_new_privs to be set, which programs can tell; nor in one with filters of
 * its own.  A program that installs its own later has all calls stopped again.
 * The instructions are guard/filter.h's.
 */

#include "tracer/guard/filter.h"
#include "tracer/process/process.h"

struct session;
struct verdict;

struct sieve {
	struct ranges covered; /* all filters together compare with these */
	bool blocking;	       /* and stop all calls that may sleep */
	bool forks;	       /* the program has had children */
	bool denied;	       /* the kernel did not want one */
	unsigned spared;       /* calls seen that a filter would have spared */
};

/* May this session use filters at all?  Of options alone. */
bool seccomp_wanted(const struct session *session);
/* "seccomp" or "ptrace": how system calls are seen, for the header. */
const char *seccomp_way(const struct session *session);

/* Do filters tell of all calls that must be seen now? */
bool seccomp_serves(const struct session *session);

/* How to resume a thread so that its calls are seen if they must be. */
enum trace_resume seccomp_resume(const struct session *session,
				 const struct thread *thread);

/* A thread is at the entry of a call that touches nothing of ours: count it,
 * and put a filter in when there were enough. */
int seccomp_note(struct session *session, struct thread *thread,
		 int number) _must_check_;

/* A filter stopped the thread. */
struct verdict seccomp_stop(struct session *session, struct thread *thread);

/*
 * Let a call go on that a filter stopped: one that a filter of the program's
 * own wants a tracer to see fails, as it does where there is none, and
 * PR_GET_SECCOMP does not count our @filters.  1: so it was answered here, and
 * no call is made; else 0.
 */
int seccomp_pass(pid_t tid, unsigned filters) _must_check_;
