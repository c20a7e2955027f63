/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * mend - the handler of SIGSEGV that a fault of ours took away
 *
 * For a fault whose signal is blocked or ignored the kernel sets the default
 * in the whole process.  session_unforce() puts the program's back when that
 * fault is handled; a SIGSEGV that another thread has of its own, and is given
 * before, would end the process.
 */

#include "tracer/session.h"

/* If it is gone, it is put back.  All others stand still, or are in calls. */
int mend(struct session *session, struct injection *injection) _must_check_;

/*
 * @thread is about to be given a SIGSEGV for which there is a handler.  1: a
 * fault of another one may have taken it; the others are held by now, it is
 * there again (or gone again, if its own fault is to end the process), and the
 * signal is to be given by mend_deliver().  0: it may be given.
 * MEND_QUEUED: it was queued again behind what this took.
 */
enum { MEND_QUEUED = 2 };
int mend_prepare(struct session *session, struct thread *thread) _must_check_;

/*
 * The signal of @thread's stop, given now: others cannot take the handler
 * before it is in it.  1: it has another stop, parked; VERDICT_AGAIN.
 */
int mend_deliver(struct session *session, struct thread *thread,
		 int signal) _must_check_;
