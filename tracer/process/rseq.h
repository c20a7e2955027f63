/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rseq - restartable sequences: rseq(2), linux/rseq.h
 *
 * Each stop of a thread inside of one makes the kernel break it off, as being
 * preempted does.
 */

#include "tracer/process/process.h"

/* The thread's area, which the kernel writes; 0: it has none. */
uint64_t rseq_area(struct thread *thread);

/* The sequence that it last said to be in (it may have left it), or 0. */
uint64_t rseq_sequence(struct thread *thread);

/* Does @ip lie in that sequence? */
bool rseq_holds(struct thread *thread, uint64_t ip);

/*
 * What the kernel does with a thread that it finds in a sequence: it goes on
 * at the abort handler.  Nothing if it is in none.
 */
int rseq_break_off(struct thread *thread) _must_check_;

enum { RSEQ_DESCRIPTION = 32 /* bytes at rseq_sequence() */ };
