/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * lift - SIGSEGV is not blocked in threads that are to survive us
 *
 * The kernel kills a thread for a fault whose signal it blocks, whatever
 * handler there is.  While ours is installed the block is lifted, so that the
 * handler will run if we are killed.  The mask that the program believes in
 * (thread->mask) is put back for each call that shows, sets or hands on the
 * mask, for the frame of a handler, and before we leave; after our death our
 * handler does it.
 *
 * A SIGSEGV that is sent meanwhile, and was to wait, is kept (kept.h) and
 * queued again with the block in force, which then stays until it is taken.
 */

#include "tracer/call.h"

/* @thread is about to be resumed with @signal, 0 none. */
void lift_resume(struct session *session, struct thread *thread, int signal);

/* Before @call begins; it may be done by then. */
int lift_enter(struct session *session, struct thread *thread,
	       const struct call *call) _must_check_;

/* The program's own mask again; nothing if it is in force. */
int lift_end(struct thread *thread) _must_check_;

/* The thread has ended. */
void lift_forget(struct thread *thread);

/* Ask the kernel what the program blocks. */
void lift_learn(struct thread *thread);

/* A SIGSEGV that waits for the program was queued, or is to be. */
int lift_wait(struct thread *thread) _must_check_;
