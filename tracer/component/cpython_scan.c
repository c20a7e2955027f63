/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/component/cpython.h"

enum { POOL_HEAD = 48, MAX_BEFORE = 32, VAIN = 4096, WORDS = 16384 / 8 };

struct sweep {
	struct cpython *py;
	const char *glob; /* NULL: classes themselves */
	uint64_t start, end;
	int (*visit)(void *context, const struct component *object);
	int (*name)(void *context, const char *name);
	void *context;
	uint64_t vain[VAIN]; /* words that are no class */
	uint64_t words[WORDS + 1];
};

static bool is_object(struct sweep *sweep, const uint64_t word[2])
{
	uint64_t *vain = &sweep->vain[(word[1] >> 3) % VAIN];

	if (!word[0] || word[0] >> 32 || word[1] % 8 || word[1] < PAGE ||
	    word[1] >> 47 || *vain == word[1])
		return false;
	if (py_class_at(sweep->py, word[1]))
		return true;
	*vain = word[1];
	return false;
}

static bool matches(struct sweep *sweep, const struct py_object *object)
{
	struct py_class *class = py_class_at(sweep->py, object->class->addr);

	if (!class)
		return false;
	if (class->scan != sweep->py->scan) {
		class->scan = sweep->py->scan;
		class->match = fnmatch(sweep->glob, class->name, 0) == 0;
	}
	return class->match;
}

/* What belongs to it and lies elsewhere: no object of its own, a member. */
static int found_parts(struct sweep *sweep, const struct py_object *object,
		       struct component *component)
{
	struct py_block part[3];
	unsigned n = py_parts(sweep->py, object, part);
	int r = 0;

	snprintf(component->member, sizeof(component->member), "<storage>");
	for (unsigned i = 0; r == 0 && i < n; i++) {
		if (part[i].end <= part[i].start)
			continue;
		component->start = part[i].start;
		component->size = part[i].end - part[i].start;
		r = sweep->visit(sweep->context, component);
	}
	return r;
}

static int found(struct sweep *sweep, const struct py_object *object)
{
	struct component component = { .kind = "object",
				       .runtime = "cpython",
				       .how = "ob_type",
				       .confidence = CONFIDENCE_LIKELY,
				       .start = object->addr };
	const struct py_class *class;
	int r;

	if (object->addr < sweep->start || object->addr >= sweep->end)
		return 0;
	if (!sweep->glob) {
		class = py_class_at(sweep->py, object->addr);
		return class ? sweep->name(sweep->context, class->name) : 0;
	}
	if (!matches(sweep, object))
		return 0;
	component.size =
		object->size ? object->size : object->block.end - object->addr;
	component.class = object->class->addr;
	component_name(&component, object->class->name);
	r = sweep->visit(sweep->context, &component);
	return r == 0 ? found_parts(sweep, object, &component) : r;
}

/* May an object begin at @at, a place in sweep->words, or soon behind it? */
static bool may_begin(struct sweep *sweep, uint32_t at, uint32_t size)
{
	for (uint32_t skip = 0; skip <= MAX_BEFORE && skip + 16 <= size;
	     skip += 16)
		if (is_object(sweep, &sweep->words[(at + skip) / 8]))
			return true;
	return false;
}

/* Each block that was ever given out; what is in none is refused. */
static int sweep_pool(struct sweep *sweep, uint64_t pool, uint32_t size,
		      uint32_t used)
{
	struct py_object object;
	int r = 0;

	if (!py_read(sweep->py, pool, sweep->words, sweep->py->layout.pool))
		return 0;
	for (uint32_t at = POOL_HEAD; r == 0 && at < used; at += size) {
		struct py_block block = { PY_POOL, pool + at, pool + at + size,
					  false };

		if (block.end > sweep->start && block.start < sweep->end &&
		    may_begin(sweep, at, size) &&
		    py_object_in(sweep->py, &block, &object))
			r = found(sweep, &object);
	}
	return r;
}

/* Elsewhere objects are found by the address of their class. */
static int sweep_words(struct sweep *sweep, uint64_t start, uint64_t end)
{
	struct py_object object;
	int r = 0;

	while (r == 0 && start + 16 <= end) {
		uint64_t stop = min_u64(page_down(start) + PAGE, end);
		size_t count = (stop - start) / 8;

		/* The last word of one page belongs to the first of the next */
		if (!py_words(sweep->py, start, sweep->words, count))
			count = 0;
		else if (!py_word(sweep->py, stop, &sweep->words[count]))
			sweep->words[count] = 0;
		for (size_t i = 0; r == 0 && i < count; i++)
			if (is_object(sweep, &sweep->words[i]) &&
			    py_object_at(sweep->py, start + i * 8, &object))
				r = found(sweep, &object);
		start = stop;
	}
	return r;
}

static bool pool_at(const struct sweep *sweep, const struct mapping *m,
		    uint64_t pool, uint32_t *size, uint32_t *used)
{
	uint32_t head[12];

	return !m->inode && m->path[0] != '[' &&
	       py_read(sweep->py, pool, head, sizeof(head)) &&
	       py_is_pool(sweep->py, pool, head, size, used);
}

/* A pool may lie in several mappings: ours closes pages of it. */
static int sweep_mapping(struct sweep *sweep, const struct mapping *m)
{
	uint64_t step = sweep->py->layout.pool;
	uint64_t from = max_u64(m->start, sweep->start);
	uint64_t end = min_u64(m->end, sweep->end);
	uint64_t pool = from & ~(step - 1);
	uint64_t whole_start = sweep->start, whole_end = sweep->end;
	int r = 0;

	sweep->start = from;
	sweep->end = end;
	for (; r == 0 && pool < end; pool += step) {
		uint32_t size, used;

		if (pool_at(sweep, m, pool, &size, &used))
			r = sweep_pool(sweep, pool, size, used);
		else
			r = sweep_words(
				sweep, (max_u64(pool, from) + 7) & ~UINT64_C(7),
				min_u64(pool + step, end));
	}
	sweep->start = whole_start;
	sweep->end = whole_end;
	return r;
}

/*
 * Code, constants and stacks hold none; of a library what is constant lies
 * before what is made so after relocation, and that before its data.
 */
static bool may_hold(const struct cpython *py, const struct mapping *m)
{
	const struct module *module;

	if (m->prot & PROT_EXEC ||
	    (m->path[0] == '[' && strcmp(m->path, "[heap]")))
		return false;
	if (!m->inode)
		return true;
	module = symbols_module(py->view->world->symbols, m->start);
	return module && m->end > module->relro_end;
}

static int sweep_all(struct sweep *sweep)
{
	const struct maps *maps = sweep->py->view->world->maps;
	const struct mapping *m = maps_above(maps, sweep->start);
	int r = 0;

	sweep->py->scan++;
	for (; r == 0 && m && m < maps->mapping + maps->count; m++) {
		if (m->start >= sweep->end)
			break;
		if (may_hold(sweep->py, m))
			r = sweep_mapping(sweep, m);
	}
	return r;
}

int py_each(void *state, const struct scan *scan)
{
	_cleanup_(freep) struct sweep *sweep = calloc(1, sizeof(*sweep));

	if (!sweep)
		return -ENOMEM;
	sweep->py = state;
	sweep->glob = scan->class;
	sweep->start = scan->start;
	sweep->end = scan->end;
	sweep->visit = scan->visit;
	sweep->context = scan->context;
	return sweep_all(sweep);
}

int py_class_names(void *state, int (*visit)(void *context, const char *name),
		   void *context)
{
	_cleanup_(freep) struct sweep *sweep = calloc(1, sizeof(*sweep));

	if (!sweep)
		return -ENOMEM;
	sweep->py = state;
	sweep->end = UINT64_C(1) << 47;
	sweep->name = visit;
	sweep->context = context;
	return sweep_all(sweep);
}
