/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * heap - the blocks of glibc's malloc, seen from outside
 *
 * Needs no symbols.  Chunks are walked from a boundary that is known; the
 * boundaries met are remembered, one for each grain, and checked before they
 * are used after the target ran.  In the middle of a malloc() the walk may
 * fail: then there is no answer, never a wrong one on purpose.
 */

#include "tracer/component/pages.h"
#include "tracer/process/maps.h"
#include "tracer/process/symbols.h"

struct chunk {
	uint64_t start, size; /* what the user may use */
	bool free;
};

struct heap;

struct heap *heap_new(struct pages *pages);
void heap_free(struct heap *heap);

/* The target ran. */
void heap_epoch(struct heap *heap);

/* A new map; @maps and @symbols stay the caller's. */
void heap_remap(struct heap *heap, const struct maps *maps,
		const struct symbols *symbols);

/* The block that holds @addr: 0, or -ENOENT. */
int heap_chunk(struct heap *heap, uint64_t addr, struct chunk *ret);

/*
 * Without a walk: does a block that is in use look to start at @start?  Says
 * yes for bytes that look like a header by chance: for an address that is
 * known to start an object.
 */
int heap_block_at(struct heap *heap, uint64_t start, struct chunk *ret);

/*
 * As heap_chunk(), for addresses that ascend: each chunk is looked at once.
 * One that waits in a thread's cache or a fast bin for the next malloc() is
 * free here, too (glibc 2.32 and later).  -ENOENT also where each block has a
 * mapping of its own.
 */
int heap_chunk_on(struct heap *heap, uint64_t addr, struct chunk *ret);
