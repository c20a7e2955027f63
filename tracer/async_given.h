/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * async_given - calls by which an io_uring is given memory
 *
 * Rings in the program's own memory, buffers that are pinned, rings of buffers;
 * and those that map parts of a ring, or take memory away.
 */

#include "tracer/call.h"

/* @thread is about to make @call, and has made it. */
int async_enter(struct session *session, struct thread *thread,
		const struct call *call) _must_check_;
int async_leave(struct session *session, struct thread *thread,
		const struct call *call, int64_t result) _must_check_;
