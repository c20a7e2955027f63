/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * frames - where the frames of a thread's signal handlers lie
 *
 * A handler's return sets the mask that its frame has.  If we are killed
 * meanwhile nobody sees that, and the mask alone does not tell: the survival
 * handler looks whether the thread still stands above its frame.
 *
 * Only handlers that were seen to begin, and only some deep.
 */

#include "tracer/process/process.h"
#include "tracer/process/survival_layout.h"

/* @thread stands before the first instruction of a handler, or not. */
int frames_enter(struct thread *thread) _must_check_;

/* It returns from one, with rt_sigreturn(2) at the stack pointer @sp. */
void frames_leave(struct thread *thread, uint64_t sp);

/* Of the handler that it is in at @sp; NULL: it is in none that we know. */
const struct survival_frame *frames_innermost(struct thread *thread,
					      uint64_t sp);

void frames_forget(struct thread *thread);
