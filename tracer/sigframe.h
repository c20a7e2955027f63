/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sigframe - the frame of a signal's handler, on a guarded stack
 *
 * The kernel writes it without asking, and kills whose stack is closed.  It is
 * let write the frame into memory of ours, with the stack pointer there for
 * the while, and the frame is put where it belongs.  No page is opened, and
 * the signal, with its place in the queue, stays what it was.
 */

#include "tracer/call.h"

/* Bytes, at most: with AVX-512 state, and more. */
enum { SIGFRAME = 16 << 10 };

/* A handler of @thread's, stopped for a signal, would lie on closed pages
 * that the user named. */
bool sigframe_wanted(const struct session *session,
		     const struct user_regs_struct *regs);

/*
 * @thread, with @regs, begins the handler of @signal.  0: it stands before its
 * first instruction; 1: parked, it is about to die; -ENOSPC: nothing done,
 * there is no memory for it.  SIGFRAME_TAKEN_BACK: there is no stack for it;
 * the signal is queued again, to be left to the kernel (thread->stackless).
 */
enum { SIGFRAME_TAKEN_BACK = 2 };
int sigframe_deliver(struct session *session, struct thread *thread, int signal,
		     const struct user_regs_struct *regs) _must_check_;

/*
 * @thread stands at the entry of rt_sigreturn(2), @call: let the kernel read
 * the frame from memory of ours.  -ENOSPC as above.
 */
int sigframe_return(struct session *session, struct thread *thread,
		    const struct call *call) _must_check_;
