/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/v8.h"

enum {
	BACK = 2048,  /* bytes from an address to its object, by scan */
	UNSIZED = 64, /* reach of an object of unknown size */
};

static bool covers(const struct v8_object *object, uint64_t addr)
{
	return addr - object->addr < (object->size ? object->size : UNSIZED);
}

/* A register holds the pointer with its tag, so one too much. */
static bool by_register(struct v8 *v8, const struct query *query,
			struct v8_object *ret)
{
	for (unsigned i = 0;
	     i < query->ncandidates && i < ARRAY_SIZE(query->candidates); i++) {
		uint64_t addr = query->candidates[i];

		if (v8_pointer(addr))
			addr = v8_pointer(addr);
		if (v8_at(v8, addr, ret) && covers(ret, query->addr))
			return true;
	}
	return false;
}

/* The nearest object below; of words by the hundred few are known maps. */
static bool by_scan(struct v8 *v8, const struct query *query,
		    struct v8_object *ret)
{
	const struct mapping *m = maps_find(v8->view->world->maps, query->addr);
	uint64_t word[BACK / 8], end = (query->addr & ~UINT64_C(7)) + 8;
	uint64_t start;
	size_t count;

	if (!v8->metas || !m || m->inode || m->path[0] == '[' ||
	    view_on_stack(v8->view, query))
		return false;
	/* Our own closing splits mappings: the page before may be readable. */
	start = end - min_u64(BACK, end);
	if (!pages_words(v8->view->pages, start, word, (end - start) / 8)) {
		start = max_u64(start, page_down(query->addr));
		if (!pages_words(v8->view->pages, start, word,
				 (end - start) / 8))
			return false;
	}
	count = (end - start) / 8;
	while (count--)
		if (v8_plausible(v8, v8_pointer(word[count])) &&
		    v8_lies_at(v8, start + 8 * count, ret) &&
		    covers(ret, query->addr))
			return true;
	return false;
}

static void tell_member(struct v8 *v8, const struct v8_object *object,
			uint64_t addr, struct component *ret)
{
	unsigned offset = (unsigned)(addr - object->addr);
	const struct v8_map *map = object->map;
	char *member = ret->member;
	size_t size = sizeof(ret->member);

	if (offset < 8)
		snprintf(member, size, "map");
	else if (v8_is_object(v8, map) && offset < 16)
		snprintf(member, size, "properties");
	else if (v8_is_object(v8, map) && offset < 24)
		snprintf(member, size, "elements");
	else if (map->type == (unsigned)v8->fact[V8_TYPE_ARRAY] && offset < 32)
		snprintf(member, size, "length");
	else if (v8_is_object(v8, map))
		v8_property(v8, map, offset, member, size);
	else if (v8_is_string(v8, map->type) && offset < 16)
		snprintf(member, size, offset < 12 ? "hash" : "length");
	else if (!map->size && offset < 16)
		snprintf(member, size, "length");
	else if (!map->size && !v8_is_string(v8, map->type) && object->size &&
		 map->type != (unsigned)v8->fact[V8_TYPE_BYTES])
		snprintf(member, size, "[%u]", (offset - 16) / 8);
}

static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	enum confidence confidence = CONFIDENCE_EXACT;
	struct v8_object object;
	struct v8 *v8 = state;

	if (!by_register(v8, query, &object)) {
		confidence = CONFIDENCE_LIKELY;
		if (!by_scan(v8, query, &object))
			return;
	}
	/* The class that a store will make of it is not known. */
	if (!object.size || (query->write && query->addr - object.addr < 8))
		confidence = CONFIDENCE_LIKELY;
	v8_describe(&object, confidence, ret);
	tell_member(v8, &object, query->addr, ret);
}

static void about(void *state, struct runtime_info *ret)
{
	struct v8 *v8 = state;

	ret->module = v8->module;
	ret->tells = TELLS_CLASSES | TELLS_MEMBERS | TELLS_OBJECTS;
	snprintf(ret->version, sizeof(ret->version), "%s", v8->version);
	if (v8->reason)
		snprintf(ret->reason, sizeof(ret->reason), "%s", v8->reason);
}

static void close_v8(void *state)
{
	struct v8 *v8 = state;

	v8_forget(v8);
	v8_free_facts(v8);
	free(v8);
}

static int open_v8(const struct view *view, void **ret)
{
	static const char *const name[] = { "libnode", "node", "nodejs" };
	const struct module *module = NULL;
	struct v8 *v8;
	int r;

	for (size_t i = 0; !module && i < ARRAY_SIZE(name); i++)
		module = view_module(view, name[i]);
	if (!module)
		return -ENOENT;
	v8 = calloc(1, sizeof(*v8));
	if (!v8)
		return -ENOMEM;
	v8->view = view;
	v8->module = module;
	v8->walked = UINT32_MAX;
	r = v8_read_facts(v8);
	if (r < 0) {
		close_v8(v8);
		return r;
	}
	*ret = v8;
	return 0;
}

static void epoch(void *state)
{
	struct v8 *v8 = state;

	v8->epoch++;
	if (v8_is_full(v8))
		v8_forget(v8);
}

const struct runtime runtime_v8 = {
	.name = "v8",
	.open = open_v8,
	.close = close_v8,
	.about = about,
	.resolve = resolve,
	.epoch = epoch,
	.each = v8_each,
	.classes = v8_classes,
};
