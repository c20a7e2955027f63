/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/mman.h>

#include "tracer/component/sweep.h"
#include "tracer/component/v8.h"

enum { MAX_MAPS = 1 << 18, STALE = 256 /* stops */ };

/* Reserved for code and the like, and mostly empty. */
#define MAX_MAPPING (UINT64_C(512) << 20)

bool v8_is_full(const struct v8 *v8)
{
	return v8->maps.count >= MAX_MAPS;
}

struct facts {
	uint8_t size, inobject;
	uint16_t type;
	uint64_t descriptors, constructor;
};

static bool read_map(struct v8 *v8, uint64_t addr, struct facts *ret)
{
	uint8_t bytes[136];
	const int *fact = v8->fact;

	if (!v8_is_map(v8, addr) ||
	    pages_read(v8->view->pages, addr, bytes, sizeof(bytes)) < 0)
		return false;
	ret->size = bytes[fact[V8_MAP_SIZE]];
	ret->inobject = bytes[fact[V8_MAP_INOBJECT]];
	memcpy(&ret->type, bytes + fact[V8_MAP_TYPE], sizeof(ret->type));
	memcpy(&ret->descriptors, bytes + fact[V8_MAP_DESCRIPTORS], 8);
	memcpy(&ret->constructor, bytes + fact[V8_MAP_CONSTRUCTOR], 8);
	return ret->type < V8_TYPES;
}

/* Its layout and its place among the maps are what they were? */
static bool still(struct v8 *v8, const struct v8_map *map)
{
	struct facts now;

	return read_map(v8, map->addr, &now) && now.type == map->type &&
	       now.size * 8u == map->size &&
	       v8_pointer(now.descriptors) == map->descriptors &&
	       now.constructor == map->constructor;
}

static void look_at(struct v8 *v8, struct v8_map *map)
{
	uint64_t bit = map->addr / 8 % V8_FILTER;
	struct facts facts;

	free(map->name);
	map->name = NULL;
	map->scan = 0;
	if (!read_map(v8, map->addr, &facts))
		return;
	map->type = facts.type;
	map->size = facts.size * 8u;
	map->inobject = facts.inobject * 8u;
	map->descriptors = v8_pointer(facts.descriptors);
	map->constructor = facts.constructor;
	map->name = v8_class(v8, map);
	if (map->name)
		v8->filter[bit / 8] |= 1 << bit % 8;
}

void v8_forget(struct v8 *v8)
{
	table_for_each(&v8->maps, s)
	{
		struct v8_map *map = s->value;

		free(map->name);
		free(map);
	}
	table_done(&v8->maps);
	v8->maps = (struct table){ 0 };
	memset(v8->filter, 0, sizeof(v8->filter));
	v8->walked = v8->epoch - 1;
}

static struct v8_map *add(struct v8 *v8, uint64_t addr)
{
	struct v8_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->addr = addr;
	if (table_put(&v8->maps, addr, map) < 0) {
		free(map);
		return NULL;
	}
	return map;
}

/* What is none is remembered, too: it is asked for again and again. */
struct v8_map *v8_map(struct v8 *v8, uint64_t addr)
{
	struct v8_map *map;

	if (!addr || addr % 8)
		return NULL;
	map = table_get(&v8->maps, addr);
	if (map && map->epoch == v8->epoch)
		return map->name ? map : NULL;
	if (map && !map->name && v8->epoch - map->epoch <= STALE)
		return NULL;
	if (!map) {
		/* Full: all is forgotten when the target has run. */
		map = v8->maps.count < MAX_MAPS ? add(v8, addr) : NULL;
		if (!map)
			return NULL;
	} else if (map->name && still(v8, map)) {
		map->epoch = v8->epoch;
		return map;
	}
	map->epoch = v8->epoch;
	look_at(v8, map);
	return map->name ? map : NULL;
}

static int meet(void *context, uint64_t addr, const uint64_t *word,
		size_t count)
{
	struct v8 *v8 = context;

	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; k < v8->metas; k++)
			if (word[i] == v8->meta[k] + 1)
				v8_map(v8, addr + 8 * i);
	return 0;
}

/* The map of maps shows itself: it is its own map. */
static int meet_meta(void *context, uint64_t addr, const uint64_t *word,
		     size_t count)
{
	struct v8 *v8 = context;

	for (size_t i = 0; i < count; i++)
		if (word[i] == addr + 8 * i + 1 && v8_is_map(v8, addr + 8 * i))
			return 1;
	return 0;
}

static int sweep_heap(struct v8 *v8,
		      int (*words)(void *context, uint64_t addr,
				   const uint64_t *word, size_t count))
{
	const struct maps *maps = v8->view->world->maps;
	int r = 0;

	for (size_t i = 0; r == 0 && i < maps->count; i++) {
		const struct mapping *m = &maps->mapping[i];

		if (!m->inode && m->path[0] != '[' && (m->prot & PROT_READ) &&
		    m->end - m->start <= MAX_MAPPING)
			r = sweep(v8->view, m->start, m->end, words, v8);
	}
	return r;
}

int v8_walk(struct v8 *v8)
{
	int r;

	if (v8->walked == v8->epoch)
		return 0;
	v8->walked = v8->epoch;
	r = v8->metas ? 0 : sweep_heap(v8, meet_meta);
	return r < 0 ? r : sweep_heap(v8, meet);
}
