/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tracer/component/heap_walk.h"

/* The largest chunk that a thread's cache takes. */
enum { MAX_KEPT = 0x410 };

/*
 * A block that is kept for the next malloc() looks as if it were in use, but
 * begins with a link to the next one of its size, or to none, mixed with its
 * own address (malloc.c: PROTECT_PTR).
 */
static bool is_kept(struct heap *heap, const struct step *step)
{
	uint64_t block = step->chunk + HEADER, link, head[4];

	if (step->size > MAX_KEPT || !pages_words(heap->pages, block, &link, 1))
		return false;
	link ^= block >> 12;
	if (!link)
		return true;
	/* A thread's cache links blocks, a fast bin chunks. */
	return link % 16 == 0 && link >> 47 == 0 &&
	       pages_words(heap->pages, link - HEADER, head, 4) &&
	       (chunk_size(head[1]) == step->size ||
		chunk_size(head[3]) == step->size);
}

static bool may_reach(const struct heap *heap, const struct cursor *cursor,
		      uint64_t addr)
{
	return cursor->epoch == heap->epoch && addr >= cursor->step.chunk &&
	       addr < cursor->end;
}

/* The one that is nearest; two scans may go through a range in turn. */
static struct cursor *choose(struct heap *heap, uint64_t addr)
{
	struct cursor *best = NULL;

	for (unsigned i = 0; i < CURSORS; i++) {
		struct cursor *cursor = &heap->cursor[i];

		if (may_reach(heap, cursor, addr) &&
		    (!best || best->step.chunk < cursor->step.chunk))
			best = cursor;
	}
	return best;
}

static struct cursor *begin(struct heap *heap, uint64_t addr)
{
	struct area area = area_of(&heap->finder, addr);
	struct cursor *cursor;

	if (area.kind != AREA_CHUNKS || addr < area.first)
		return NULL;
	cursor = &heap->cursor[heap->next_cursor++ % CURSORS];
	*cursor = (struct cursor){ .epoch = heap->epoch, .end = area.end };
	cursor->step.chunk = area.first;
	cursor->lost = !heap_look(heap, area.first, area.end, &cursor->step);
	return cursor;
}

static void go_on(struct heap *heap, struct cursor *cursor, uint64_t addr)
{
	struct step *step = &cursor->step;

	while (!cursor->lost && !step->top &&
	       addr - step->chunk >= step->size + HEADER / 2) {
		cursor->judged = false;
		cursor->lost = !heap_look_at(heap, step->chunk + step->size,
					     step->next[1], cursor->end, step);
	}
}

int heap_chunk_on(struct heap *heap, uint64_t addr, struct chunk *ret)
{
	struct cursor *cursor = choose(heap, addr);

	if (!cursor)
		cursor = begin(heap, addr);
	if (!cursor)
		return -ENOENT;
	go_on(heap, cursor, addr);
	if (cursor->lost || !heap_holds(&cursor->step, addr, ret))
		return -ENOENT;
	if (!cursor->judged)
		cursor->kept = !ret->free && is_kept(heap, &cursor->step);
	cursor->judged = true;
	ret->free |= cursor->kept;
	return 0;
}
