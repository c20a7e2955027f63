/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ranges - a sorted set of address ranges that do not overlap
 *
 * Pure.  Ends are excluded.  A range may carry a tag; joining keeps the tag of
 * the lower one and never joins ranges whose tags differ.
 */

#include "base/macro.h"

struct range {
	uint64_t start, end;
	uint64_t tag;
};

struct ranges {
	struct range *range;
	size_t count, capacity;
};

void ranges_done(struct ranges *ranges);
void ranges_clear(struct ranges *ranges);

/* Add; an overlap with what is there keeps the older tag. 0 or -ENOMEM. */
int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end,
	       uint64_t tag) _must_check_;

/* Take [start, end) out. 0 or -ENOMEM. */
int ranges_remove(struct ranges *ranges, uint64_t start,
		  uint64_t end) _must_check_;

/* Add all of @more. 0 or -ENOMEM. */
int ranges_join(struct ranges *ranges, const struct ranges *more) _must_check_;

/* The range that holds @addr, or NULL. */
const struct range *ranges_find(const struct ranges *ranges, uint64_t addr);

/* The first range that overlaps [start, end), or NULL. */
const struct range *ranges_overlap(const struct ranges *ranges, uint64_t start,
				   uint64_t end);
