/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * slice - when pages are closed and opened by the clock
 *
 * Under --sample a broad watch is closed for a short slice, hz times a
 * second; the first access of each page is seen, and between slices the
 * target runs free.  A narrow watch stays closed and is closed anew hz times
 * a second.  Also finds objects of a class that were born meanwhile.
 */

#include "tracer/session.h"

void slice_tick(struct session *session);

/* Open all pages, or at the next stop if nobody stands still now. */
void slice_end(struct session *session);

/* How often slice_tick() should be called. */
unsigned slice_tick_ms(const struct session *session);
