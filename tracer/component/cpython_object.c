/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/cpython.h"

enum {
	POOL_HEAD = 48,
	MAX_CLASSES = 32, /* of sizes: 16 to 512 bytes */
	DEBUG_HEAD = 16,  /* that PYTHONMALLOC=debug puts before a block */
	MAX_BEFORE = 32,
	DYING_EPOCHS = 4096, /* accesses: what it takes to tidy up */
};

/* More than that are told only of what never ends, from 3.12 on. */
#define MAX_REFERENCES (UINT64_C(1) << 32)
#define IMMORTAL       UINT64_C(0xc0000000)
#define MAX_ITEMS      (UINT64_C(1) << 36)

/* Bytes of the digits, whose number is signed until 3.11, and its tag after. */
static uint64_t integer_size(const struct cpython *py, uint64_t count)
{
	if (py->layout.minor >= 12)
		count >>= 3;
	else if ((int64_t)count < 0)
		count = -count;
	return 24 + 4 * (count ? count : 1);
}

static bool str_size(const struct cpython *py, uint64_t addr, uint64_t length,
		     uint64_t *size)
{
	uint32_t state;
	unsigned width;

	if (length > MAX_ITEMS || !py_read(py, addr + 32, &state, 4))
		return false;
	width = state >> 2 & 7;
	/* Its text lies elsewhere: from old extensions, until 3.11. */
	if (!(state & 0x20))
		return false;
	if (width != 1 && width != 2 && width != 4)
		return false;
	*size = (state & 0x40 ? py->layout.ascii : py->layout.compact) +
		(length + 1) * width;
	return true;
}

/* Attributes that lie behind the object itself; 3.13. */
static uint64_t inline_size(const struct cpython *py,
			    const struct py_class *class)
{
	struct py_keys keys;
	uint64_t count;

	if (py->layout.minor < 13 || !(class->flags & PY_INLINE_VALUES) ||
	    !py_keys(py, class->keys, &keys))
		return 0;
	count = keys.used + keys.usable;
	return ((count + 7) & ~UINT64_C(7)) + (count + 1) * 8;
}

/* From its own words; false: these are none of an object. */
static bool measure(struct cpython *py, struct py_object *object,
		    const uint64_t word[3])
{
	const struct py_class *class = object->class;
	uint64_t count = word[2];

	object->size = class->basic;
	if (class->addr == py->str)
		return str_size(py, object->addr, count, &object->size);
	if (class->addr == py->integer) {
		object->size = integer_size(py, count);
		return object->size < MAX_ITEMS;
	}
	if (class->item && !class->sized) {
		object->size = 0;
		return true;
	}
	if (class->item) {
		/* subclasses of int, and others, have a sign there */
		if ((int64_t)count < 0)
			count = -count;
		if (count > MAX_ITEMS)
			return false;
		object->size += count * class->item;
	}
	object->size += inline_size(py, class);
	return true;
}

static bool is_static(const struct cpython *py, uint64_t addr)
{
	return symbols_module(py->view->world->symbols, addr) != NULL;
}

/*
 * A program at a fixed place has its classes at low addresses: two of them in
 * a list look like a count and a class.
 */
static bool is_count(const struct cpython *py, uint64_t addr, uint64_t count)
{
	if (!count || count >= MAX_REFERENCES)
		return false;
	return count < py->module->start || count >= IMMORTAL ||
	       is_static(py, addr);
}

static unsigned dying_slot(uint64_t addr)
{
	return (addr * UINT64_C(0x9e3779b97f4a7c15) >> 32) % PY_DYING;
}

/*
 * Until its block is given back an object is one, without references.  Who
 * saw the last one go knows: a block that is given out anew may have the same
 * words, until its own object is written.
 */
void py_dies(struct cpython *py, const struct query *query)
{
	unsigned i = dying_slot(query->addr);
	uint64_t word[2];

	if (!query->write || query->size != 8 || query->addr % 8 ||
	    !py_words(py, query->addr, word, 2) || word[0] ||
	    !py_class_at(py, word[1]))
		return;
	py->dying[i].addr = query->addr;
	py->dying[i].epoch = py->epoch;
}

static bool is_dying(const struct cpython *py, uint64_t addr)
{
	unsigned i = dying_slot(addr);

	return py->dying[i].addr == addr &&
	       py->epoch - py->dying[i].epoch < DYING_EPOCHS;
}

/* A header, whatever lies around it. */
static bool looks_like_one(struct cpython *py, uint64_t addr,
			   struct py_object *ret)
{
	uint64_t word[3];

	ret->addr = addr;
	if (addr % 8 || !py_words(py, addr, word, 3))
		return false;
	/* A free block has a link to the next one here, a dead one 0. */
	ret->dying = !word[0];
	if (!(ret->dying ? is_dying(py, addr) : is_count(py, addr, word[0])))
		return false;
	ret->class = py_class_at(py, word[1]);
	return ret->class && measure(py, ret, word);
}

bool py_is_pool(const struct cpython *py, uint64_t pool,
		const uint32_t head[12], uint32_t *size, uint32_t *used)
{
	uint64_t mask = ~(uint64_t)(py->layout.pool - 1), free;
	uint32_t count = head[0], class = head[9], next = head[10];

	memcpy(&free, &head[2], 8);
	if (class >= MAX_CLASSES)
		return false;
	*size = (class + 1) * 16;
	*used = next;
	return head[11] == py->layout.pool - *size && next >= POOL_HEAD &&
	       next <= py->layout.pool && (next - POOL_HEAD) % *size == 0 &&
	       count <= (py->layout.pool - POOL_HEAD) / *size &&
	       (!free || (free & mask) == pool);
}

bool py_is_free(const struct cpython *py, const struct py_block *block)
{
	uint64_t mask = ~(uint64_t)(py->layout.pool - 1);
	uint64_t pool = block->start & mask, at;
	uint32_t head[12], size, used;

	if (block->head || !py_read(py, pool, head, sizeof(head)) ||
	    !py_is_pool(py, pool, head, &size, &used))
		return false;
	if (block->start - pool >= used)
		return true;
	memcpy(&at, &head[2], 8);
	for (uint32_t i = 0; at && i < py->layout.pool / size; i++) {
		if (at == block->start)
			return true;
		if ((at & mask) != pool || !py_word(py, at, &at))
			return false;
	}
	return false;
}

bool py_pool_block(const struct cpython *py, uint64_t addr,
		   struct py_block *ret)
{
	uint64_t pool = addr & ~(uint64_t)(py->layout.pool - 1);
	const struct mapping *m = maps_find(py->view->world->maps, addr);
	uint32_t head[12], size, used;

	/* arenas are mappings of their own */
	if (!m || m->inode || m->path[0] == '[' ||
	    !py_read(py, pool, head, sizeof(head)) ||
	    !py_is_pool(py, pool, head, &size, &used))
		return false;
	ret->kind = PY_POOL;
	ret->head = addr < pool + POOL_HEAD;
	ret->start = pool;
	ret->end = pool + POOL_HEAD;
	if (ret->head)
		return true;
	ret->start += POOL_HEAD;
	ret->start += (addr - ret->start) / size * size;
	ret->end = ret->start + size;
	return ret->end <= pool + py->layout.pool;
}

/* With PYTHONMALLOC=debug: its size, a letter, and a fence. */
static unsigned debug_head(const struct cpython *py, uint64_t start)
{
	uint8_t head[DEBUG_HEAD];

	if (!py_read(py, start, head, sizeof(head)))
		return 0;
	for (unsigned i = 9; i < DEBUG_HEAD; i++)
		if (head[i] != 0xfd)
			return 0;
	return DEBUG_HEAD;
}

static uint64_t end_of(const struct py_object *object)
{
	return object->size ? object->addr + object->size : object->block.end;
}

/* Its block was given back.  Of malloc's chunks nobody knows, so they count. */
static bool is_over(struct cpython *py, const struct py_object *object)
{
	if (object->block.kind != PY_POOL)
		return true;
	if (!py_is_free(py, &object->block))
		return false;
	py->dying[dying_slot(object->addr)].addr = 0;
	return true;
}

/* Is the object all that lies in its block? */
static bool fills(struct cpython *py, const struct py_object *object)
{
	const struct py_block *block = &object->block;
	uint64_t start = object->addr - object->class->before;

	if (object->dying && is_over(py, object))
		return false;

	if (start < block->start || end_of(object) > block->end)
		return false;
	return start == block->start || (start == block->start + DEBUG_HEAD &&
					 debug_head(py, block->start));
}

static bool chunk_at(const struct cpython *py, uint64_t start,
		     struct py_block *ret)
{
	struct chunk chunk;

	if (heap_block_at(py->view->heap, start, &chunk) < 0 &&
	    (heap_block_at(py->view->heap, start - DEBUG_HEAD, &chunk) < 0 ||
	     !debug_head(py, start - DEBUG_HEAD)))
		return false;
	*ret = (struct py_block){ PY_CHUNK, chunk.start,
				  chunk.start + chunk.size, false };
	return true;
}

bool py_object_at(struct cpython *py, uint64_t addr, struct py_object *ret)
{
	if (!looks_like_one(py, addr, ret))
		return false;
	if (py_pool_block(py, addr, &ret->block))
		return !ret->block.head && fills(py, ret);
	if (chunk_at(py, addr - ret->class->before, &ret->block))
		return fills(py, ret);
	if (!is_static(py, addr) || !ret->size || ret->dying)
		return false;
	ret->block =
		(struct py_block){ PY_STATIC, addr, addr + ret->size, false };
	return true;
}

bool py_object_in(struct cpython *py, const struct py_block *block,
		  struct py_object *ret)
{
	uint64_t start = block->start + debug_head(py, block->start);

	if (block->head)
		return false;
	ret->block = *block;
	for (unsigned skip = 0; skip <= MAX_BEFORE; skip += 16) {
		if (start + skip + 16 > block->end ||
		    !looks_like_one(py, start + skip, ret))
			continue;
		if (ret->class->before == skip && fills(py, ret))
			return true;
	}
	return false;
}

struct py_block py_block_of(struct cpython *py, uint64_t addr)
{
	struct py_block block = { PY_NOWHERE, 0, 0, false };
	struct symbol symbol;
	struct chunk chunk;

	if (py_pool_block(py, addr, &block))
		return block;
	block.kind = PY_NOWHERE;
	if (is_static(py, addr)) {
		if (symbols_at(py->view->world->symbols, addr, &symbol) == 0 &&
		    symbol.size && !symbol.function)
			block = (struct py_block){ PY_STATIC, symbol.addr,
						   symbol.addr + symbol.size,
						   false };
		return block;
	}
	if (heap_chunk(py->view->heap, addr, &chunk) == 0 && !chunk.free)
		block = (struct py_block){ PY_CHUNK, chunk.start,
					   chunk.start + chunk.size, false };
	return block;
}
