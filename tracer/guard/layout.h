/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * layout - where a bounced call's buffers lie in the room
 *
 * Which buffers must move, which share bytes, and their places.  Touches no
 * memory.
 */

#include "tracer/guard/bounce.h"

/* A set of buffers is a uint64_t. */
static inline uint64_t layout_bit(unsigned i)
{
	return UINT64_C(1) << i;
}

/*
 * The buffers to move: those that touch guarded memory, that hold a pointer
 * to one of these, or that share bytes with one of these.
 */
uint64_t layout_choose(const struct call_plan *plan,
		       bool (*guarded)(void *, uint64_t, uint64_t),
		       void *context);

/* Their spans, none of which overlap; how many. */
unsigned layout_spans(const struct call_plan *plan, uint64_t set,
		      struct bounce_span *spans);

/* Give each span its place in @room. */
void layout_place(struct bounce *bounce, uint64_t room);
