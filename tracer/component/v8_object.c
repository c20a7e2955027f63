/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <string.h>

#include "tracer/component/sweep.h"
#include "tracer/component/v8.h"

enum { MAX_LENGTH = 1 << 28, HEADER = 16 };

/* A Smi is 32 bits in the upper half of a word. */
static bool is_smi(uint64_t word)
{
	return (uint32_t)word == 0;
}

static uint64_t string_size(const struct v8 *v8, const struct v8_object *object)
{
	uint64_t length = object->word[1] >> 32;
	uint64_t bytes = object->map->type & (unsigned)v8->fact[V8_ONE_BYTE]
				 ? length
				 : 2 * length;

	if (length > MAX_LENGTH)
		return 0;
	return ((unsigned)v8->fact[V8_STRING_CHARS] + bytes + 7) & ~UINT64_C(7);
}

/* Does it have its length where an array has, and words behind? */
static bool is_array(const struct v8 *v8, unsigned type)
{
	const int *fact = v8->fact;

	return (type >= (unsigned)fact[V8_TYPE_FIXED] &&
		type < (unsigned)fact[V8_TYPE_BYTES]) ||
	       (type >= (unsigned)fact[V8_FIRST_CONTEXT] &&
		type <= (unsigned)fact[V8_LAST_CONTEXT]) ||
	       type == (unsigned)fact[V8_TYPE_DOUBLES] ||
	       type == (unsigned)fact[V8_TYPE_PROPERTIES];
}

static uint64_t size_of(const struct v8 *v8, const struct v8_object *object)
{
	uint64_t length = object->word[1] >> 32;
	unsigned type = object->map->type;

	if (object->map->size)
		return object->map->size;
	if (v8_is_string(v8, type))
		return string_size(v8, object);
	if (!is_smi(object->word[1]) || length > MAX_LENGTH)
		return 0;
	if (type == (unsigned)v8->fact[V8_TYPE_PROPERTIES])
		return HEADER + 8 * (length & 0x3ff); /* the rest is a hash */
	if (is_array(v8, type))
		return HEADER + 8 * length;
	if (type == (unsigned)v8->fact[V8_TYPE_BYTES])
		return (HEADER + length + 7) & ~UINT64_C(7);
	return 0;
}

bool v8_at(struct v8 *v8, uint64_t addr, struct v8_object *ret)
{
	if (!addr || addr % 8 ||
	    !pages_words(v8->view->pages, addr, ret->word, 3))
		return false;
	ret->map = v8_map(v8, v8_pointer(ret->word[0]));
	if (!ret->map)
		return false;
	ret->addr = addr;
	ret->size = size_of(v8, ret);
	return true;
}

/* What an object keeps its properties or its elements in. */
static bool is_store(struct v8 *v8, uint64_t word)
{
	uint64_t addr = v8_pointer(word);
	const struct v8_map *map;

	if (!addr || !pages_words(v8->view->pages, addr, &word, 1))
		return false;
	map = v8_map(v8, v8_pointer(word));
	return map && (is_array(v8, map->type) ||
		       map->type == (unsigned)v8->fact[V8_TYPE_BYTES]);
}

/*
 * Other objects point to maps, too.  Behind the one at its start an object has
 * where its properties and its elements are, an array and a string their
 * length; of the rest nothing can be seen.
 */
bool v8_lies_at(struct v8 *v8, uint64_t addr, struct v8_object *ret)
{
	if (!v8_at(v8, addr, ret) || !ret->size)
		return false;
	if (v8_is_object(v8, ret->map))
		return (is_smi(ret->word[1]) || is_store(v8, ret->word[1])) &&
		       is_store(v8, ret->word[2]);
	if (is_array(v8, ret->map->type))
		return is_smi(ret->word[1]) && ret->word[1];
	return v8_is_string(v8, ret->map->type) && !v8_pointer(ret->word[1]);
}

void v8_describe(const struct v8_object *object, enum confidence confidence,
		 struct component *ret)
{
	ret->kind = "object";
	ret->runtime = "v8";
	ret->how = "map";
	ret->confidence = confidence;
	ret->start = object->addr;
	ret->size = object->size;
	component_name(ret, object->map->name);
}

struct search {
	struct v8 *v8;
	const struct scan *scan;
};

static bool matches(struct search *search, struct v8_map *map)
{
	if (map->scan != search->v8->scan) {
		map->scan = search->v8->scan;
		map->match = !fnmatch(search->scan->class, map->name, 0);
	}
	return map->match;
}

static int look(void *context, uint64_t addr, const uint64_t *word,
		size_t count)
{
	struct search *search = context;
	struct v8 *v8 = search->v8;

	for (size_t i = 0; i < count; i++) {
		struct component component = { 0 };
		struct v8_object object;
		struct v8_map *map;
		int r;

		if (!v8_plausible(v8, v8_pointer(word[i])))
			continue;
		map = v8_map(v8, v8_pointer(word[i]));
		if (!map || !matches(search, map) ||
		    !v8_lies_at(v8, addr + 8 * i, &object))
			continue;
		v8_describe(&object, CONFIDENCE_LIKELY, &component);
		r = search->scan->visit(search->scan->context, &component);
		if (r != 0)
			return r;
	}
	return 0;
}

int v8_each(void *state, const struct scan *scan)
{
	struct search search = { state, scan };
	int r;

	if (symbols_module(search.v8->view->world->symbols, scan->start))
		return 0;
	r = v8_walk(search.v8);
	if (r < 0)
		return r;
	search.v8->scan++;
	return sweep(search.v8->view, scan->start, scan->end, look, &search);
}

int v8_classes(void *state, int (*visit)(void *context, const char *name),
	       void *context)
{
	struct v8 *v8 = state;
	int r = v8_walk(v8);

	table_for_each(&v8->maps, s)
	{
		const struct v8_map *map = s->value;

		if (r == 0 && map->name)
			r = visit(context, map->name);
	}
	return r;
}
