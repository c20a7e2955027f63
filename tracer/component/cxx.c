/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/cxx.h"

enum {
	MAX_REACH = 4096,    /* from the start of an object of unknown size */
	MAX_GUESS = 256,     /* from a vtable pointer that only lies below */
	MAX_COUNT = 1 << 28, /* elements of an array */
};

bool cxx_object_at(struct cxx *cxx, uint64_t addr, struct object *ret)
{
	struct vtable *vtable;

	if (addr % 8 || !pages_words(cxx->view->pages, addr, &ret->pointer, 1))
		return false;
	vtable = vtables_find(cxx->vtables, ret->pointer);
	if (!vtable)
		return false;
	ret->start = addr + vtable->top;
	if (vtable->top) {
		/* A later base: the whole object starts below. */
		if (!pages_words(cxx->view->pages, ret->start, &ret->pointer,
				 1))
			return false;
		vtable = vtables_find(cxx->vtables, ret->pointer);
		if (!vtable || vtable->top)
			return false;
	}
	ret->vtable = vtable;
	return true;
}

bool cxx_starts_at(struct cxx *cxx, uint64_t addr, struct object *ret)
{
	return cxx_object_at(cxx, addr, ret) && ret->start == addr;
}

void cxx_describe(const struct object *object, uint64_t size,
		  enum confidence confidence, struct component *ret)
{
	ret->kind = "object";
	ret->runtime = "c++";
	ret->how = object->vtable->how;
	ret->confidence = confidence;
	ret->start = object->start;
	ret->size = size;
	component_name(ret, object->vtable->name);
}

struct hit {
	struct object object;
	uint64_t size;
	enum confidence confidence;
};

/*
 * Of an array the element that holds @addr: the nearest pointer to the same
 * vtable below it.  Two of them tell the size.  false: past the last one.
 */
static bool to_element(struct cxx *cxx, uint64_t addr, struct hit *hit)
{
	uint64_t word[MAX_REACH / 8], from = hit->object.start, before = 0;
	uint64_t last = 0, end = addr & ~UINT64_C(7);

	if (end - from > MAX_REACH - 8)
		from = end - (MAX_REACH - 8);
	if (!pages_words(cxx->view->pages, from, word, (end - from) / 8 + 1))
		return true;
	for (uint64_t at = from; at <= end; at += 8) {
		if (word[(at - from) / 8] != hit->object.pointer)
			continue;
		before = last;
		last = at;
	}
	if (!last || last == hit->object.start)
		return true;
	if (before)
		hit->size = last - before;
	else
		hit->size = 0;
	hit->object.start = last;
	if (hit->confidence > CONFIDENCE_LIKELY)
		hit->confidence = CONFIDENCE_LIKELY;
	return !hit->size || addr - last < hit->size;
}

/* std::make_shared() puts the object behind a count of its own class. */
static bool to_shared(struct cxx *cxx, uint64_t addr, struct hit *hit)
{
	static const struct {
		const char *prefix;
		uint64_t offset;
	} count[] = {
		{ "std::_Sp_counted_ptr_inplace<", 16 },
		{ "std::__shared_ptr_emplace<", 24 },
	};
	const char *name = hit->object.vtable->name;
	struct object inner;
	uint64_t start = 0;

	for (size_t i = 0; i < ARRAY_SIZE(count); i++)
		if (!strncmp(name, count[i].prefix, strlen(count[i].prefix)))
			start = hit->object.start + count[i].offset;
	if (!start || addr < start || !cxx_starts_at(cxx, start, &inner))
		return false;
	hit->size -= min_u64(hit->size, start - hit->object.start);
	hit->object = inner;
	return true;
}

/*
 * The same where the class's size is known: then an object covers what it
 * covers, and no more.  Behind it may lie what the program has put into the
 * same block; and while a base is being made its vtable pointer is there.
 */
static bool to_sized(struct cxx *cxx, uint64_t addr, uint64_t size,
		     struct hit *hit)
{
	uint64_t first = hit->object.start, pointer = hit->object.pointer;
	struct object element;

	if (addr - first >= size) {
		if (cxx_starts_at(cxx, addr - (addr - first) % size,
				  &element) &&
		    element.pointer == pointer) {
			hit->object = element;
		} else {
			if (hit->confidence > CONFIDENCE_LIKELY)
				hit->confidence = CONFIDENCE_LIKELY;
			return hit->size &&
			       !(cxx_starts_at(cxx, first + size, &element) &&
				 element.pointer == pointer);
		}
	}
	hit->size = size;
	if (hit->confidence == CONFIDENCE_LIKELY)
		hit->confidence = CONFIDENCE_EXACT;
	return true;
}

/* The vtable of hit->object may have moved in its table meanwhile. */
static bool refine(struct cxx *cxx, uint64_t addr, struct hit *hit)
{
	struct type *type = cxx_type(cxx, hit->object.vtable);

	if (type && type->size ? !to_sized(cxx, addr, type->size, hit)
			       : !to_element(cxx, addr, hit))
		return false;
	if (!cxx_object_at(cxx, hit->object.start, &hit->object))
		return false;
	if (to_shared(cxx, addr, hit)) {
		type = cxx_type(cxx, hit->object.vtable);
		if (type && type->size)
			hit->size = type->size;
	}
	return cxx_object_at(cxx, hit->object.start, &hit->object);
}

/* Does the object at hit->object, told by a register, reach to @addr? */
static bool covers(struct cxx *cxx, const struct query *query,
		   const struct room *room, struct hit *hit)
{
	uint64_t start = hit->object.start, far = query->addr - start;

	hit->size = 0;
	hit->confidence = CONFIDENCE_EXACT;
	if (room->kind == ROOM_NONE) {
		if (far >= 8)
			hit->confidence = CONFIDENCE_LIKELY;
		return far < MAX_REACH;
	}
	if (start < room->start || start >= room->end)
		return false;
	if (room->kind == ROOM_FREE)
		hit->confidence = CONFIDENCE_GUESS;
	if (start == room->start)
		hit->size = room->end - start;
	else if (far >= MAX_REACH)
		return false;
	return true;
}

/* The usual case, without a walk: a register points to a block's start. */
static bool is_block(struct cxx *cxx, uint64_t addr, struct hit *hit)
{
	struct chunk chunk;

	if (!cxx_block_at(cxx, hit->object.start, &chunk) ||
	    addr - chunk.start >= chunk.size)
		return false;
	hit->size = chunk.size;
	hit->confidence = CONFIDENCE_EXACT;
	return true;
}

struct search {
	struct cxx *cxx;
	const struct query *query;
	struct room room;
	bool have_room, on_stack;
};

static const struct room *room(struct search *search)
{
	if (!search->have_room)
		search->room = cxx_room(search->cxx, search->query);
	search->have_room = true;
	return &search->room;
}

static bool by_register(struct search *search, struct hit *hit)
{
	const struct query *query = search->query;
	struct cxx *cxx = search->cxx;

	for (unsigned i = 0;
	     i < query->ncandidates && i < ARRAY_SIZE(query->candidates); i++) {
		if (!cxx_object_at(cxx, query->candidates[i], &hit->object) ||
		    hit->object.start > query->addr)
			continue;
		if ((search->on_stack || !is_block(cxx, query->addr, hit)) &&
		    !covers(cxx, query, room(search), hit))
			continue;
		/* Where the stack ends lies whatever a function saved. */
		if (query->candidates[i] == query->sp &&
		    room(search)->kind == ROOM_NONE)
			continue;
		if (refine(cxx, query->addr, hit))
			return true;
	}
	return false;
}

/*
 * An array whose elements have destructors starts with their number, in 8
 * bytes, or 16 if the elements are aligned so.
 */
static bool is_array(struct cxx *cxx, const struct room *room,
		     struct object *ret)
{
	uint64_t head[2];

	if (room->end - room->start < 24 ||
	    !pages_words(cxx->view->pages, room->start, head, 2))
		return false;
	if (head[0] && head[0] <= MAX_COUNT &&
	    cxx_starts_at(cxx, room->start + 8, ret))
		return true;
	return head[1] && head[1] <= MAX_COUNT &&
	       cxx_starts_at(cxx, room->start + 16, ret);
}

/* With the size of its class an object is more than a guess. */
static bool reaches(struct cxx *cxx, uint64_t addr, struct hit *hit)
{
	struct type *type = cxx_type(cxx, hit->object.vtable);

	if (!type || !type->size)
		return true;
	hit->size = type->size;
	hit->confidence = CONFIDENCE_LIKELY;
	return addr - hit->object.start < type->size;
}

/* Last resort: a node of a list or map, an arena of some other allocator. */
static bool by_scan(struct cxx *cxx, uint64_t addr, uint64_t start,
		    struct hit *hit)
{
	uint64_t word[MAX_GUESS / 8], end = (addr & ~UINT64_C(7)) + 8;
	uint64_t from = max_u64((start + 7) & ~UINT64_C(7), end - MAX_GUESS);
	size_t count = from < end ? (end - from) / 8 : 0;

	hit->size = 0;
	hit->confidence = CONFIDENCE_GUESS;
	if (!count || !pages_words(cxx->view->pages, from, word, count))
		return false;
	while (count--)
		if (vtables_plausible(cxx->vtables, word[count]) &&
		    cxx_object_at(cxx, from + count * 8, &hit->object) &&
		    hit->object.start >= start && hit->object.start <= addr &&
		    reaches(cxx, addr, hit))
			return true;
	return false;
}

static bool by_room(struct search *search, struct hit *hit)
{
	const struct room *in = room(search);
	uint64_t addr = search->query->addr;
	struct cxx *cxx = search->cxx;

	if (in->kind == ROOM_NONE || in->kind == ROOM_FREE || addr < in->start)
		return false;
	hit->size = in->end - in->start;
	hit->confidence =
		in->kind == ROOM_SYMBOL ? CONFIDENCE_EXACT : CONFIDENCE_LIKELY;
	if (cxx_starts_at(cxx, in->start, &hit->object))
		return refine(cxx, addr, hit);
	if (in->kind == ROOM_SYMBOL)
		return false;
	hit->size = 0;
	if (is_array(cxx, in, &hit->object) && addr >= hit->object.start)
		return refine(cxx, addr, hit);
	return by_scan(cxx, addr, in->start, hit);
}

static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	struct search search = { .cxx = state, .query = query };
	struct hit hit;

	search.on_stack = view_on_stack(search.cxx->view, query);
	if (!by_register(&search, &hit) && !by_room(&search, &hit))
		return;
	/* What a store to the vtable pointer will make of it is not known. */
	if (query->write && query->addr - hit.object.start < 8 &&
	    hit.confidence > CONFIDENCE_LIKELY)
		hit.confidence = CONFIDENCE_LIKELY;
	cxx_describe(&hit.object, hit.size, hit.confidence, ret);
	cxx_member(search.cxx, &hit.object, query->addr, ret);
}

static void close_cxx(void *state)
{
	struct cxx *cxx = state;

	vtables_free(cxx->vtables);
	free(cxx);
}

/* "/usr/lib/libstdc++.so.6.0.30": what follows ".so." */
static void library_version(const struct module *module,
			    struct runtime_info *ret)
{
	const char *text = strstr(module->name, ".so.");

	if (text)
		snprintf(ret->version, sizeof(ret->version), "%s", text + 4);
}

/* A program may be linked statically, and stripped: then objects will show. */
static void about(void *state, struct runtime_info *ret)
{
	static const char *const library[] = { "libstdc++", "libc++",
					       "libc++abi" };
	struct cxx *cxx = state;

	for (size_t i = 0; !ret->module && i < ARRAY_SIZE(library); i++)
		ret->module = view_module(cxx->view, library[i]);
	if (ret->module)
		library_version(ret->module, ret);
	ret->tells = TELLS_CLASSES | TELLS_OBJECTS;
}

static int open_cxx(const struct view *view, void **ret)
{
	struct cxx *cxx = calloc(1, sizeof(*cxx));

	if (!cxx)
		return -ENOMEM;
	cxx->view = view;
	cxx->vtables = vtables_new(view->pages, view->world->symbols);
	if (!cxx->vtables) {
		free(cxx);
		return -ENOMEM;
	}
	*ret = cxx;
	return 0;
}

static void epoch(void *state)
{
	struct cxx *cxx = state;

	vtables_epoch(cxx->vtables);
}

static void remap(void *state)
{
	struct cxx *cxx = state;

	vtables_remap(cxx->vtables);
}

const struct runtime runtime_cxx = {
	.name = "c++",
	.open = open_cxx,
	.close = close_cxx,
	.about = about,
	.resolve = resolve,
	.epoch = epoch,
	.remap = remap,
	.each = cxx_each,
	.classes = cxx_classes,
	.member = cxx_find_member,
};
