/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * refuse - pages that would kill the target if they were guarded
 *
 * What the kernel writes to without asking: the stack in use (signal frames;
 * guarded if the user named it, and then sigframe.h and growth.h care for it),
 * the thread control block, rseq area, robust list and alternate signal stack
 * of every thread (docs/kernel.md).
 */

#include "tracer/watch.h"

/*
 * Note those of every thread of @process in @watch->never.  The threads should
 * be stopped; of one that cannot be, the kernel tells the stack pointer.
 */
int refuse_threads(struct watch *watch, struct process *process) _must_check_;

/* The stack that holds @sp. */
int refuse_stack(struct watch *watch, const struct process *process,
		 uint64_t sp) _must_check_;
