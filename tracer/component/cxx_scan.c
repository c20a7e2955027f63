/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>

#include "tracer/component/cxx.h"

enum { PIECE = 1 << 20 };

struct sweep {
	struct cxx *cxx;
	const struct scan *scan;
	uint64_t *word; /* PIECE bytes */

	/* What was told last, for the next of the same class. */
	struct component told;
	uint64_t last; /* its vtable pointer */

	/* Constants of a module: its tables are full of vtable pointers. */
	uint64_t skip_start, skip_end;
};

static bool matches(struct sweep *sweep, struct vtable *vtable)
{
	if (vtable->scan != sweep->cxx->scan) {
		vtable->scan = sweep->cxx->scan;
		vtable->match =
			fnmatch(sweep->scan->class, vtable->name, 0) == 0;
	}
	return vtable->match;
}

/* The size of an object that was found by its vtable pointer, if it shows. */
static enum confidence measure(struct cxx *cxx, uint64_t start, uint64_t *size)
{
	struct symbol symbol;
	struct chunk chunk;

	*size = 0;
	if (cxx_block_at(cxx, start, &chunk)) {
		*size = chunk.size;
		return CONFIDENCE_LIKELY;
	}
	if (symbols_at(cxx->view->world->symbols, start, &symbol) == 0 &&
	    symbol.addr == start && !symbol.function) {
		*size = symbol.size;
		return CONFIDENCE_EXACT;
	}
	return CONFIDENCE_GUESS;
}

/* As measure(), of an object in a block that is in use. */
static enum confidence measure_in(struct cxx *cxx, uint64_t start,
				  const struct chunk *chunk, uint64_t *size)
{
	if (start != chunk->start)
		return measure(cxx, start, size);
	*size = chunk->size;
	return CONFIDENCE_LIKELY;
}

static int found(struct sweep *sweep, uint64_t addr, uint64_t pointer,
		 struct vtable *vtable)
{
	struct object object = { addr, pointer, vtable };
	struct cxx *cxx = sweep->cxx;
	struct type *type = cxx_type(cxx, vtable);
	enum confidence confidence = CONFIDENCE_LIKELY;
	struct chunk chunk;
	uint64_t size;

	if (!cxx->view->world->living ||
	    heap_chunk_on(cxx->view->heap, addr, &chunk) < 0)
		confidence = measure(cxx, addr, &size);
	else if (chunk.free ||
		 (type && type->size > chunk.start + chunk.size - addr))
		return 0;
	else if (!type || !type->size)
		confidence = measure_in(cxx, addr, &chunk, &size);
	if (type && type->size)
		size = type->size;
	if (sweep->last != pointer)
		cxx_describe(&object, size, confidence, &sweep->told);
	sweep->last = pointer;
	sweep->told.class = pointer;
	sweep->told.start = addr;
	sweep->told.size = size;
	sweep->told.confidence = confidence;
	return sweep->scan->visit(sweep->scan->context, &sweep->told);
}

static int sweep_words(struct sweep *sweep, uint64_t addr, size_t count)
{
	struct vtables *vtables = sweep->cxx->vtables;
	const uint8_t *filter = vtables_filter(vtables);

	for (size_t i = 0; i < count; i++, addr += 8) {
		uint64_t pointer = sweep->word[i];
		struct vtable *vtable;
		int r;

		if (!vtable_passes(filter, pointer) ||
		    (addr >= sweep->skip_start && addr < sweep->skip_end))
			continue;
		vtable = vtables_find(vtables, pointer);
		if (!vtable || vtable->top || !matches(sweep, vtable))
			continue;
		r = found(sweep, addr, pointer, vtable);
		if (r != 0)
			return r;
	}
	return 0;
}

/* What cannot be read at once is read page by page, and skipped at last. */
static int sweep_piece(struct sweep *sweep, uint64_t start, uint64_t end)
{
	const struct memory *memory = &sweep->cxx->view->world->memory;
	int r = 0;

	if (memory_read(memory, start, sweep->word, end - start) == 0)
		return sweep_words(sweep, start, (end - start) / 8);
	while (r == 0 && start < end) {
		uint64_t stop = min_u64(page_down(start) + PAGE, end);

		if (memory_read(memory, start, sweep->word, stop - start) == 0)
			r = sweep_words(sweep, start, (stop - start) / 8);
		start = stop;
	}
	return r;
}

static void find_constants(struct sweep *sweep, uint64_t addr)
{
	const struct module *module =
		symbols_module(sweep->cxx->view->world->symbols, addr);

	sweep->skip_start = module ? module->relro_start : 0;
	sweep->skip_end = module ? module->relro_end : 0;
}

static int sweep_range(struct sweep *sweep, uint64_t start, uint64_t end)
{
	int r = 0;

	start = (start + 7) & ~UINT64_C(7);
	end &= ~UINT64_C(7);
	find_constants(sweep, start);
	while (r == 0 && start < end) {
		uint64_t stop = min_u64(start + PIECE, end);

		r = sweep_piece(sweep, start, stop);
		start = stop;
	}
	return r;
}

/* Mapped memory of a range; a mapping belongs to one module or none. */
int cxx_each(void *state, const struct scan *scan)
{
	_cleanup_(freep) uint64_t *word = malloc(PIECE);
	struct sweep sweep = { .cxx = state, .scan = scan, .word = word };
	const struct maps *maps = sweep.cxx->view->world->maps;
	const struct mapping *m = maps_above(maps, scan->start);
	int r = 0;

	if (!word)
		return -ENOMEM;
	sweep.cxx->scan++;
	for (; r == 0 && m && m < maps->mapping + maps->count; m++) {
		if (m->start >= scan->end)
			break;
		r = sweep_range(&sweep, max_u64(m->start, scan->start),
				min_u64(m->end, scan->end));
	}
	return r;
}
