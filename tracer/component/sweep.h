/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sweep - all words of a range, in pieces
 */

#include "tracer/component/runtime.h"

/*
 * @words gets each piece of [start, end) that can be read, until it returns
 * non-zero, which is returned.  -ENOMEM.
 */
int sweep(const struct view *view, uint64_t start, uint64_t end,
	  int (*words)(void *context, uint64_t addr, const uint64_t *word,
		       size_t count),
	  void *context);
