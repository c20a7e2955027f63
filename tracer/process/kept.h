/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * kept - signals that a fault or a step of ours took out of the queue
 *
 * For a fault in a thread that blocks SIGSEGV the kernel lifts the block, and
 * so do we for a step.  One that the program itself had sent, and that was to
 * wait, then comes first: the kernel does not even queue the fault behind it.
 * It is kept here, the thread tries again, and the signal is queued anew
 * before the program can look for it.
 */

#include "tracer/process/process.h"

/*
 * The program blocks the signals of @mask, and they are about to be unblocked
 * for us: which wait, and where?  What is sent later is told apart by how it
 * was sent: all but kill(2) is taken for the thread's.
 */
void kept_look(struct thread *thread, uint64_t mask);

/*
 * @thread stopped for the signal of @info.  1: it was to wait, and is kept;
 * swallow it.  0: it is no such one.
 */
int kept_take(struct thread *thread, const siginfo_t *info) _must_check_;

/* The same, whatever the program blocks. */
int kept_add(struct thread *thread, const siginfo_t *info) _must_check_;

/* Queue them again; @thread stands where an injection loses nothing. */
int kept_return(struct thread *thread) _must_check_;

/* The same of a thread that carries a signal: from without. */
void kept_send(struct thread *thread);
