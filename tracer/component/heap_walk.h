/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * heap walk - the inside of struct heap
 *
 * For heap.c, which is asked for any address, and heap_on.c, which is asked
 * for all of them in turn.
 */

#include "tracer/component/area.h"
#include "tracer/component/heap.h"

enum {
	BOUNDARIES = 262144, /* of grains; 128 MiB of heap */
	BIG = 32,	     /* searches of that kind that are remembered */
	CURSORS = 2,
};

/* A chunk that begins in the grain, or reaches into it. */
struct boundary {
	uint64_t grain, chunk;
	unsigned epoch;
};

/* Pages [start, end) hold one mmapped chunk, or (size 0) no header at all. */
struct big {
	uint64_t start, end, size;
	unsigned epoch;
};

/* Where a walk from the area's first chunk could not go on. */
struct dead_end {
	uint64_t first, chunk;
	unsigned epoch;
};

struct step {
	uint64_t chunk, size;
	uint64_t next[2]; /* the next chunk's header */
	bool top;	  /* the arena's last: what nobody has */
};

/* How far heap_chunk_on() has come. */
struct cursor {
	struct step step;
	uint64_t end; /* of the area */
	unsigned epoch;
	bool lost; /* behind the step there is no way on */
	bool judged, kept;
};

struct heap {
	struct pages *pages;
	struct area_finder finder;
	unsigned epoch;

	struct dead_end dead_end;
	struct big big[BIG];
	unsigned next_big;
	struct cursor cursor[CURSORS];
	unsigned next_cursor;
	struct boundary boundary[BOUNDARIES];
};

/* false: no chunk lies there, or the heap is being changed. */
bool heap_look(struct heap *heap, uint64_t chunk, uint64_t end,
	       struct step *ret);
/* The same where the word with its size was read before. */
bool heap_look_at(struct heap *heap, uint64_t chunk, uint64_t word,
		  uint64_t end, struct step *ret);

/*
 * The user's bytes reach 8 bytes into the next chunk while this one is in
 * use.  false: @addr is in a header.
 */
bool heap_holds(const struct step *step, uint64_t addr, struct chunk *ret);
