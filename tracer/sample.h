/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sample - call stacks by the clock: -F
 *
 * No thread is stopped.  Of one that runs the kernel keeps registers and stack
 * (perf.h); one that sleeps is read where it sleeps, and what was read counts
 * if it was not woken meanwhile.  With -F alone nothing is guarded.
 */

#include "tracer/session.h"

/* Write what came since the last tick, and if it is time who sleeps where. */
void sample_tick(struct session *session);

/* Of a thread that has ended or exec'ed what came since. */
void sample_last(struct session *session, struct thread *thread);
