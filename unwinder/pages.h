/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pages - copies of pages of the process
 *
 * Knows nothing of what is in them, nor when they go stale: whoever owns a
 * cache clears it.
 */

#include "base/memory.h"

struct pages_slot {
	uint64_t page;	     /* its address */
	uint32_t index;	     /* of its copy */
	uint32_t generation; /* in use if it is the cache's */
};

struct pages {
	char *data;	    /* copies, PAGE bytes each */
	uint32_t count;	    /* copies in use */
	uint32_t allocated; /* copies that fit */
	uint32_t max;	    /* copies kept; then all are dropped */
	uint32_t ahead;	    /* pages read at once */

	struct pages_slot *slots; /* open addressing */
	uint32_t mask;
	uint32_t generation;

	uint64_t last; /* the page that was asked for last, 1 if none */
	const char *last_data;
};

/* @max is a power of two. */
int pages_init(struct pages *pages, uint32_t max, uint32_t ahead) _must_check_;
void pages_done(struct pages *pages);
void pages_clear(struct pages *pages);

/*
 * The copy of the page at @page, read through @memory if need be.  Valid
 * until the next call.  0 or -errno.
 */
int pages_get(struct pages *pages, const struct memory *memory, uint64_t page,
	      const char **ret) _must_check_;
