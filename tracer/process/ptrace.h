/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ptrace - ptrace(2) as functions that return -errno
 *
 * The one door to ptrace(2).  -ESRCH from any of them: the thread died or
 * does not stand still; whoever waits next will be told which.
 */

#include <linux/ptrace.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/macro.h"

enum trace_resume {
	TRACE_CONT,    /* to the next signal or event */
	TRACE_SYSCALL, /* and to the next system call's entry or exit */
	TRACE_STEP,    /* one instruction */
	TRACE_LISTEN,  /* stay in the group stop */
};

/* PTRACE_O_*: tell system calls apart, follow children and execs. */
enum {
	TRACE_OPTIONS = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5,
	TRACE_SECCOMP = 1 << 7,		 /* stop at SECCOMP_RET_TRACE */
	TRACE_EXIT_KILL = 1 << 20,	 /* the target dies with us */
	TRACE_SUSPEND_SECCOMP = 1 << 21, /* for injected calls */
};

int trace_seize(pid_t tid, unsigned long options) _must_check_;
int trace_interrupt(pid_t tid);
int trace_resume(pid_t tid, enum trace_resume how, int signal);
int trace_detach(pid_t tid, int signal);
int trace_options(pid_t tid, unsigned long options) _must_check_;

int trace_get_regs(pid_t tid, struct user_regs_struct *regs) _must_check_;
int trace_set_regs(pid_t tid, const struct user_regs_struct *regs) _must_check_;
int trace_set_ip(pid_t tid, uint64_t ip) _must_check_;
int trace_get_ip(pid_t tid, uint64_t *ip) _must_check_;

/* NT_X86_XSTATE; *size: room in, bytes out. */
int trace_get_xstate(pid_t tid, void *xstate, size_t *size) _must_check_;
int trace_set_xstate(pid_t tid, const void *xstate, size_t size) _must_check_;

/*
 * Only x87, MMX and SSE state: the first 512 bytes of @xstate.  Upper halves
 * of vector registers stay as they are, and the thread goes on faster: the
 * kernel copies the whole XSTATE another way, which cost 60 us more here.
 */
int trace_set_fpregs(pid_t tid, const void *xstate) _must_check_;

int trace_get_siginfo(pid_t tid, siginfo_t *info) _must_check_;
int trace_set_siginfo(pid_t tid, const siginfo_t *info) _must_check_;
int trace_event_message(pid_t tid, unsigned long *message) _must_check_;

/* The kernel's 64 signals as bits; signal n is bit n-1. */
int trace_get_mask(pid_t tid, uint64_t *mask) _must_check_;
int trace_set_mask(pid_t tid, uint64_t mask) _must_check_;

/* At a stop of a seccomp filter, too: that is an entry. */
int trace_syscall_info(pid_t tid,
		       struct ptrace_syscall_info *info) _must_check_;

/* Where the thread's rseq area is; 0 if it has none or nobody tells. */
uint64_t trace_rseq(pid_t tid);
