/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * call - a system call of the target between its entry and its exit
 *
 * Shared by the files that handle them: call_enter.c (which way it goes),
 * call.c (entry and exit), moved.c (its buffers bounced), inplace.c (its pages
 * open), mapcall.c (it changes the map), timeout.c (made again after our
 * interrupt).
 */

#include "tracer/guard/bounce.h"
#include "tracer/room.h"
#include "tracer/session.h"

/* What we did for a call; exists only while something must be undone. */
struct inflight {
	struct call call; /* as the program made it */
	struct call_plan plan;

	bool moved; /* buffers live in the room */
	struct bounce bounce;
	struct room room;
	bool restarts; /* it returned -ERESTART_RESTARTBLOCK: the kernel
			  keeps pointers into the room */

	uint8_t changed;  /* argument registers that we changed, bits */
	uint64_t args[6]; /* as the kernel sees them */
	struct room timeout_room;

	struct ranges opened;	   /* pages open for it */
	bool pinned;		   /* and it blocks */
	uint8_t *before;	   /* their watched buffers' bytes, in a row */
	struct compared *compared; /* or NULL */
};

/* The thread's inflight, made if need be; NULL: no memory. */
struct inflight *call_inflight(struct thread *thread, const struct call *call);

/* Does the program's memory here need care: closed, or open for a call? */
bool call_guarded(void *context, uint64_t addr, uint64_t size);

/*
 * The call's number and argument registers.  At the entry of a
 * restart_syscall(2) the number turns it into the call itself.
 */
int call_set(struct thread *thread, int number,
	     const uint64_t args[6]) _must_check_;

/* call_stack.c: the stack of the thread that this call would make, guarded
 * before it runs or refused. */
int call_child_stack(struct session *session, struct thread *thread,
		     const struct call *call) _must_check_;

/*
 * The call that a thread inside restart_syscall(2) goes on with, if nobody saw
 * it begin: by the instruction that loads its number, before the call's own.
 * Only four calls do so.  -1: not to be told.
 */
int call_under_restart(struct thread *thread, uint64_t ip);

/*
 * Take back a call at whose entry the thread stands, so that it is made anew.
 * Detached there it would begin with a signal seemingly pending, and those
 * that end with EINTR then do.  Nothing if it stands elsewhere.
 */
int call_cancel(struct thread *thread);

/*
 * call_enter.c: which way a call goes.  0: resume it; 1: it was run, the
 * thread stands at its exit; 2: it runs already.  @resumed: the thread stands
 * in restart_syscall(2), which goes on with @call.
 */
int call_enter(struct session *session, struct thread *thread,
	       const struct call *call, bool resumed) _must_check_;

/* moved.c: 0 moved; 1 it cannot be; the thread stands at the entry. */
int moved_enter(struct session *session, struct thread *thread,
		const struct call *call, const struct call_plan *plan,
		uint64_t room) _must_check_;
int moved_exit(struct session *session, struct thread *thread,
	       int64_t result) _must_check_;

/* inplace.c: let it run with its pages open. */
enum {
	INPLACE_RUNS = 0,   /* it blocks or execs, and runs on */
	INPLACE_EXIT = 1,   /* it returned, the thread stands at its exit */
	INPLACE_RESUME = 2, /* nothing was opened: resume it */
};
int inplace_enter(struct session *session, struct thread *thread,
		  const struct call *call,
		  const struct call_plan *plan) _must_check_;
int inplace_exit(struct session *session, struct thread *thread,
		 int64_t result) _must_check_;

/* inplace.c: resume and wait for the exit, all others held. */
int inplace_run(struct thread *thread) _must_check_;

/* timeout.c: may the call have a timeout that we count? */
bool timeout_counts(int number);

/* timeout.c: shorten a timeout by the time that already went by. */
int timeout_enter(struct session *session, struct thread *thread,
		  const struct call *call) _must_check_;

/*
 * timeout.c: what a call returns that our interrupt broke off, if its socket's
 * timeout is over meanwhile; 0: it is to be made again, with all of it.
 */
int timeout_over(struct thread *thread, const struct user_regs_struct *regs);

/* mapcall.c: a call that may change the map. 1: it was run, see the exit. */
int mapcall_enter(struct session *session, struct thread *thread,
		  const struct call *call) _must_check_;
int mapcall_exit(struct session *session, struct thread *thread,
		 const struct call *call, int64_t result) _must_check_;

/*
 * interrupted.c: a call ended with -512 to -516.  What it touched is kept
 * until a handler runs, which makes it an event, or the call is made again.
 */
int interrupted_keep(struct thread *thread, int number,
		     const struct bounce_use *uses,
		     unsigned count) _must_check_;
void interrupted_forget(struct thread *thread);
void interrupted_by_handler(struct session *session, struct thread *thread,
			    uint64_t flags);

/* One event "by":"kernel".  @how: NULL, or as event.h says. */
void call_report_as(struct session *session, struct thread *thread,
		    const char *syscall, const char *how,
		    const struct bounce_use *use);
void call_report(struct session *session, struct thread *thread, int number,
		 const struct bounce_use *use);
