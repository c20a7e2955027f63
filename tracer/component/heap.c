/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/heap_walk.h"

enum {
	GRAIN = 512,	     /* bytes for which one boundary is remembered */
	BACK = 128,	     /* grains: how far one may lie */
	PROOF = 8,	     /* chunks that must add up behind an old one */
	MAX_STEPS = 1 << 21, /* chunks walked at most */
	MAX_DOWN = 4096,     /* pages searched for an mmapped chunk's header */
	DEAD_EPOCHS = 64,    /* stops until a walk that failed is retried */
	BIG_EPOCHS = 1024,   /* and for how many stops if in vain */
};

struct heap *heap_new(struct pages *pages)
{
	struct heap *heap = calloc(1, sizeof(*heap));

	if (heap) {
		heap->pages = pages;
		heap->finder.pages = pages;
		heap->epoch = 1;
	}
	return heap;
}

void heap_free(struct heap *heap)
{
	free(heap);
}

void heap_epoch(struct heap *heap)
{
	heap->epoch++;
}

void heap_remap(struct heap *heap, const struct maps *maps,
		const struct symbols *symbols)
{
	area_remap(&heap->finder, maps, symbols);
	heap->dead_end.chunk = 0;
	memset(heap->cursor, 0, sizeof(heap->cursor));
	memset(heap->big, 0, sizeof(heap->big));
}

static struct boundary *boundary_of(struct heap *heap, uint64_t grain)
{
	return &heap->boundary[grain * UINT64_C(0x9e3779b97f4a7c15) >> 46];
}

static void remember(struct heap *heap, uint64_t grain, uint64_t chunk)
{
	struct boundary *b = boundary_of(heap, grain);

	if (b->grain == grain && b->epoch == heap->epoch && b->chunk <= chunk)
		return;
	*b = (struct boundary){ grain, chunk, heap->epoch };
}

bool heap_look_at(struct heap *heap, uint64_t chunk, uint64_t word,
		  uint64_t end, struct step *ret)
{
	if (chunk + HEADER > end)
		return false;
	ret->chunk = chunk;
	ret->size = chunk_size(word);
	if (!is_chunk_size(ret->size) || ret->size > end - chunk)
		return false;
	ret->top = ret->size == end - chunk;
	ret->next[0] = 0;
	ret->next[1] = IN_USE_BEFORE;
	if (ret->top)
		return true;
	if (!pages_words(heap->pages, chunk + ret->size, ret->next, 2))
		return false;
	/* A free chunk's size is repeated behind it. */
	return (ret->next[1] & IN_USE_BEFORE) || ret->next[0] == ret->size;
}

bool heap_look(struct heap *heap, uint64_t chunk, uint64_t end,
	       struct step *ret)
{
	uint64_t head[2];

	return pages_words(heap->pages, chunk, head, 2) &&
	       heap_look_at(heap, chunk, head[1], end, ret);
}

bool heap_holds(const struct step *step, uint64_t addr, struct chunk *ret)
{
	ret->start = step->chunk + HEADER;
	ret->free = step->top || !(step->next[1] & IN_USE_BEFORE);
	ret->size = step->size - (ret->free ? HEADER : HEADER / 2);
	return addr >= ret->start && addr - ret->start < ret->size;
}

/*
 * @proof: chunks that must follow and add up before the answer counts.
 * -ENOENT: @addr is no user's; -EBADMSG: no way to it, *from is where it ends.
 */
static int walk(struct heap *heap, uint64_t *from, uint64_t end, uint64_t addr,
		unsigned proof, struct chunk *ret)
{
	enum { BEFORE, IN_BLOCK, IN_HEADER } where = BEFORE;
	uint64_t chunk = *from;

	for (unsigned i = 0; i < MAX_STEPS; i++) {
		struct step step;

		*from = chunk;
		if (where == BEFORE && chunk > addr)
			where = IN_HEADER;
		if (where == IN_HEADER && proof-- == 0)
			return -ENOENT;
		if (!heap_look(heap, chunk, end, &step))
			return -EBADMSG;
		if (where == BEFORE) {
			remember(heap, chunk / GRAIN, chunk);
			if (heap_holds(&step, addr, ret)) {
				remember(heap, addr / GRAIN, chunk);
				where = IN_BLOCK;
			}
		}
		if (where == IN_BLOCK && (step.top || proof-- == 0))
			return 0;
		if (step.top)
			return -ENOENT;
		chunk += step.size;
	}
	return -EBADMSG;
}

/*
 * A heap that cannot be walked (a program that calls brk itself, or a malloc
 * that is under way) is tried again, but not at each stop.
 */
static int walk_all(struct heap *heap, const struct area *area, uint64_t addr,
		    struct chunk *ret)
{
	struct dead_end *dead = &heap->dead_end;
	uint64_t from = area->first;
	int r;

	if (dead->chunk && dead->first == area->first && addr >= dead->chunk &&
	    heap->epoch - dead->epoch < DEAD_EPOCHS)
		return -ENOENT;
	r = walk(heap, &from, area->end, addr, 0, ret);
	if (r != -EBADMSG)
		return r;
	*dead = (struct dead_end){ area->first, from, heap->epoch };
	return -ENOENT;
}

/* As walk(). */
static int walk_near(struct heap *heap, const struct area *area, uint64_t addr,
		     struct chunk *ret)
{
	uint64_t grain = addr / GRAIN;
	uint64_t last = max_u64(area->first / GRAIN, grain - BACK);
	uint64_t failed = 0;

	for (; grain >= last; grain--) {
		const struct boundary *b = boundary_of(heap, grain);
		uint64_t from = b->chunk;
		int r;

		if (b->grain != grain || b->chunk < area->first ||
		    b->chunk + HEADER > addr)
			continue;
		r = walk(heap, &from, area->end, addr,
			 b->epoch == heap->epoch ? 0 : PROOF, ret);
		if (r != -EBADMSG)
			return r;
		/* In the midst of a malloc(): all ways lead there. */
		if (from == failed)
			break;
		failed = from;
	}
	return -EBADMSG;
}

/* An mmapped chunk starts a page; prev_size is what was cut to align it. */
static bool is_mapped_chunk(struct heap *heap, uint64_t page, uint64_t end,
			    uint64_t *size)
{
	uint64_t head[2];

	if (!pages_words(heap->pages, page, head, 2) ||
	    (head[1] & FLAGS) != MMAPPED)
		return false;
	*size = chunk_size(head[1]);
	return *size >= PAGE && *size <= end - page && head[0] < 16 * PAGE &&
	       (*size + head[0]) % PAGE == 0;
}

static int big_chunk(const struct big *big, struct chunk *ret)
{
	if (!big->size)
		return -ENOENT;
	*ret = (struct chunk){ big->start + HEADER, big->size - HEADER, false };
	return 0;
}

/* A search that was made before: 0, or -ENOENT; 1 if there was none. */
static int known_big(struct heap *heap, uint64_t addr, struct chunk *ret)
{
	for (unsigned i = 0; i < BIG; i++) {
		const struct big *big = &heap->big[i];
		uint64_t size;

		if (addr < big->start || addr >= big->end)
			continue;
		if (!big->size && heap->epoch - big->epoch > BIG_EPOCHS)
			continue;
		if (big->size &&
		    (!is_mapped_chunk(heap, big->start, big->end, &size) ||
		     size != big->size))
			continue;
		return big_chunk(big, ret);
	}
	return 1;
}

static int find_big(struct heap *heap, const struct area *area, uint64_t addr,
		    struct chunk *ret)
{
	struct big *big = &heap->big[heap->next_big++ % BIG];
	uint64_t page = page_down(addr);
	bool below = false;

	*big = (struct big){ page, page + PAGE, 0, heap->epoch };
	for (unsigned i = 0; i < MAX_DOWN && page >= area->first; i++) {
		uint64_t size;
		bool chunk = is_mapped_chunk(heap, page, area->end, &size);

		if (chunk && size > addr - page) {
			*big = (struct big){ page, page + size, size,
					     heap->epoch };
			break;
		}
		/* Of what a chunk below holds nothing was found out. */
		if (!below)
			big->start = chunk ? page + size : page;
		below |= chunk;
		page -= PAGE;
	}
	return big_chunk(big, ret);
}

int heap_chunk(struct heap *heap, uint64_t addr, struct chunk *ret)
{
	struct area area = area_of(&heap->finder, addr);
	int r;

	switch (area.kind) {
	case AREA_CHUNKS:
		r = walk_near(heap, &area, addr, ret);
		if (r != -EBADMSG)
			return r;
		return walk_all(heap, &area, addr, ret);
	case AREA_MAPPED:
		r = known_big(heap, addr, ret);
		if (r > 0)
			r = find_big(heap, &area, addr, ret);
		if (r == 0 && addr < ret->start)
			return -ENOENT;
		return r;
	case AREA_NONE:
		break;
	}
	return -ENOENT;
}

int heap_block_at(struct heap *heap, uint64_t start, struct chunk *ret)
{
	struct area area = area_of(&heap->finder, start);
	uint64_t chunk = start - HEADER, size;
	struct step step;

	if (area.kind == AREA_NONE || chunk < area.first || chunk > start)
		return -ENOENT;
	if (area.kind == AREA_MAPPED) {
		if (chunk % PAGE ||
		    !is_mapped_chunk(heap, chunk, area.end, &size))
			return -ENOENT;
		*ret = (struct chunk){ start, size - HEADER, false };
		return 0;
	}
	if (chunk % 16 || !heap_look(heap, chunk, area.end, &step) ||
	    step.top || !(step.next[1] & IN_USE_BEFORE) ||
	    chunk_size(step.next[1]) < HEADER)
		return -ENOENT;
	return heap_holds(&step, start, ret) ? 0 : -ENOENT;
}
