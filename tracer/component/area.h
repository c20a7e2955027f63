/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * area - a stretch of memory that malloc fills with chunks
 *
 * What heap.c asks before it walks: where does the first chunk lie, and where
 * does the last one end?
 */

#include "tracer/component/pages.h"
#include "tracer/process/maps.h"
#include "tracer/process/symbols.h"

/*
 * A chunk of glibc 2.26 and later, 64 bit, starts with two words: the size of
 * the chunk before, if that one is free (else these 8 bytes are its user's),
 * and its own size, whose low bits tell of the chunk before and of itself.
 */
enum { IN_USE_BEFORE = 1, MMAPPED = 2, OTHER_ARENA = 4, FLAGS = 7 };
enum { HEADER = 16, MIN_CHUNK = 32 };

static inline uint64_t chunk_size(uint64_t word)
{
	return word & ~UINT64_C(7);
}

static inline bool is_chunk_size(uint64_t size)
{
	return size >= MIN_CHUNK && size % 16 == 0;
}

enum area_kind { AREA_NONE, AREA_CHUNKS, AREA_MAPPED };

struct area {
	enum area_kind kind; /* MAPPED: mmapped chunks, or somebody else's */
	uint64_t first, end; /* first chunk, or first byte */
};

/* Neighbouring mappings of one kind, as the program made them. */
struct run {
	uint64_t start, end;
	bool brk;
};

enum { RUNS = 16 };

/*
 * The heaps of glibc's arenas but the main one, each of HEAP_MAX_SIZE at a
 * multiple of that, begin with a struct heap_info: its arena, the heap before,
 * the bytes in use, and those that were made writable.
 */
#define ARENA_HEAP (UINT64_C(64) << 20)

/* Do these first words look like one? */
bool area_is_arena(const struct maps *maps, const uint64_t info[4]);

struct area_finder {
	struct pages *pages;
	const struct maps *maps;
	const struct symbols *symbols;
	uint64_t main_start, main_first; /* of [heap], and its first chunk */
	struct run run[RUNS];
	unsigned next_run;
};

void area_remap(struct area_finder *finder, const struct maps *maps,
		const struct symbols *symbols);
struct area area_of(struct area_finder *finder, uint64_t addr);
