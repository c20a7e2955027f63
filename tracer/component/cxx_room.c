/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/component/cxx.h"
#include "tracer/component/frame.h"

/* Of a header that the program itself puts before an object. */
enum { MIN_HEADER = 16, MAX_HEADER = 32 };

/*
 * Programs that count their memory (MariaDB) put a header of their own before
 * what malloc gave, with the size that was asked for, and flags in its low
 * bits.  Can the first @size bytes of the block be one?
 */
static bool is_own_header(struct cxx *cxx, const struct chunk *chunk,
			  unsigned size)
{
	uint64_t head[MAX_HEADER / 8];

	if (chunk->size <= size ||
	    !pages_words(cxx->view->pages, chunk->start, head, size / 8))
		return false;
	for (unsigned i = 0; i < size / 8; i++) {
		uint64_t asked = head[i] & ~UINT64_C(7);

		/* malloc rounds up to 16 */
		if (asked && asked <= chunk->size - size &&
		    chunk->size - size - asked < 16)
			return true;
	}
	return false;
}

bool cxx_block_at(struct cxx *cxx, uint64_t addr, struct chunk *ret)
{
	if (heap_block_at(cxx->view->heap, addr, ret) == 0)
		return true;
	for (unsigned size = MIN_HEADER; size <= MAX_HEADER; size += 8) {
		if (heap_block_at(cxx->view->heap, addr - size, ret) < 0 ||
		    !is_own_header(cxx, ret, size))
			continue;
		ret->start += size;
		ret->size -= size;
		return true;
	}
	return false;
}

/* Where in a block its object starts; its start if there is none. */
static uint64_t behind_header(struct cxx *cxx, const struct chunk *chunk)
{
	struct object object;

	for (unsigned size = MIN_HEADER; size <= MAX_HEADER; size += 8)
		if (is_own_header(cxx, chunk, size) &&
		    cxx_starts_at(cxx, chunk->start + size, &object))
			return chunk->start + size;
	return chunk->start;
}

static struct room variable(struct cxx *cxx, const struct query *query)
{
	const struct view *view = cxx->view;
	struct room room = { ROOM_NONE, 0, 0 };
	struct stack_place place;
	struct local local;

	if (!frame_of(view, query, &place) ||
	    !frame_local(view, query, &place, &local))
		return room;
	room.kind = ROOM_SYMBOL;
	room.start = place.cfa + (uint64_t)local.offset;
	room.end = room.start + local.type->size;
	return room;
}

struct room cxx_room(struct cxx *cxx, const struct query *query)
{
	uint64_t addr = query->addr;
	struct room room = { ROOM_NONE, 0, 0 };
	struct symbol symbol;
	struct chunk chunk;

	if (view_on_stack(cxx->view, query))
		return variable(cxx, query);
	if (symbols_at(cxx->view->world->symbols, addr, &symbol) == 0 &&
	    symbol.size && !symbol.function)
		return (struct room){ ROOM_SYMBOL, symbol.addr,
				      symbol.addr + symbol.size };
	if (heap_chunk(cxx->view->heap, addr, &chunk) < 0)
		return room;
	room.kind = chunk.free ? ROOM_FREE : ROOM_BLOCK;
	room.start = behind_header(cxx, &chunk);
	room.end = chunk.start + chunk.size;
	return room;
}
