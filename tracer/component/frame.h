/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * frame - what lies on the stack of the thread that touches it
 */

#include "tracer/component/runtime.h"

/* The frame that has query->addr; false: none is known. */
bool frame_of(const struct view *view, const struct query *query,
	      struct stack_place *ret);

/* The variable there; false: none is told. */
bool frame_local(const struct view *view, const struct query *query,
		 const struct stack_place *place, struct local *ret);
