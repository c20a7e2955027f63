/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * confined - programs whose own seccomp(2) filters would judge our calls
 *
 * A filter that forbids mprotect(2) may kill for it.  Where we may not suspend
 * filters (CAP_SYS_ADMIN, and no filter of our own) nothing is injected into a
 * thread that has any but those that it shares with us: a container's are the
 * same for both, and permit what we do.  What a filter says is not read: that
 * takes the same capability.
 */

#include "tracer/call.h"

/* Of a stopped thread. */
bool confined(const struct thread *thread);

/* May nothing be injected into one of them? */
bool confined_any(const struct process *process);

/*
 * At the entry of a call: if the thread is about to confine itself, give all
 * rights back and end the tracing before that; it is parked then.
 */
int confined_enter(struct session *session, struct thread *thread,
		   const struct call *call) _must_check_;

/*
 * It did so while its calls were not seen, and no page was closed: the memory
 * of ours that it has must stay.
 */
void confined_late(struct session *session);
