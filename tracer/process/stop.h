/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stop - what waitpid told, as a value
 *
 * The one door for waiting.  stop_classify() is pure.
 */

#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

enum stop_kind {
	STOP_NONE,	 /* nothing yet */
	STOP_EXITED,	 /* value: exit status */
	STOP_KILLED,	 /* value: signal */
	STOP_SIGNAL,	 /* signal about to be delivered; value: which */
	STOP_SYSCALL,	 /* at the entry or exit of a system call */
	STOP_INTERRUPT,	 /* our PTRACE_INTERRUPT, or the birth of a thread */
	STOP_GROUP,	 /* job control; value: the stopping signal */
	STOP_CLONE,	 /* value: PTRACE_EVENT_CLONE, _FORK or _VFORK */
	STOP_VFORK_DONE, /* the vfork child exec'ed or exited */
	STOP_EXEC,
	STOP_SECCOMP, /* a filter said SECCOMP_RET_TRACE */
	STOP_OTHER,   /* an event that we did not ask for; value: which */
};

struct stop {
	pid_t tid;
	enum stop_kind kind;
	int value;
	int status; /* as waitpid gave it */
};

/* The thread is no more. */
static inline bool stop_is_end(const struct stop *stop)
{
	return stop->kind == STOP_EXITED || stop->kind == STOP_KILLED;
}

struct stop stop_classify(pid_t tid, int status);

/*
 * Wait for the next stop of @tid, or of anybody if it is -1.
 * 0; -EINTR: a signal of ours came; -ECHILD: there is nobody (left);
 * -EAGAIN: nothing yet, if @block is false.
 */
int stop_wait(pid_t tid, bool block, struct stop *ret) _must_check_;

/* The same of @tid alone for @ns at most: -EAGAIN; signals do not end it. */
int stop_wait_for(pid_t tid, uint64_t ns, struct stop *ret) _must_check_;
