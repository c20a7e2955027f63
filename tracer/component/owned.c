/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tracer/component/cxx.h"
#include "tracer/component/pointers.h"
#include "tracer/component/typed.h"

/*
 * Blocks of the heap that hold no class themselves: a variable of the
 * program, or an object that a register points to, has a pointer of known
 * type to their start.
 */
enum {
	KNOWN = 4096,  /* blocks that are remembered */
	ROOTS = 4096,  /* pointers in variables */
	PER_STOP = 64, /* of them are looked at, on the average */
	AGAIN = 16,    /* stops until a block without owner is tried again */
	MINIMUM = 24,  /* what malloc gives for anything less */
	ROUNDING = 16,
};

struct root {
	uint64_t addr;
	struct pointer pointer;
};

struct known {
	uint64_t start; /* of the block; 0: nothing */
	uint64_t owner; /* where the pointer lies; 0: none found */
	struct pointer pointer;
	unsigned epoch;
};

struct owned {
	struct cxx cxx; /* for objects in registers */
	struct pointers_cache pointers;
	struct table names; /* struct type -> string */
	unsigned generation, epoch, looked;
	bool have_roots;
	struct root *root;
	size_t roots;
	struct known known[KNOWN];
};

static const struct view *view_of(const struct owned *owned)
{
	return owned->cxx.view;
}

static int add_roots(void *context, const struct variable *variable)
{
	struct owned *owned = context;
	const struct pointers *list;
	struct type *type = variable->type;

	list = pointers_of(&owned->pointers, type);
	for (unsigned i = 0; list && i < list->count; i++) {
		if (owned->roots == ROOTS)
			return 1;
		owned->root[owned->roots++] = (struct root){
			variable->addr + list->pointer[i].offset,
			list->pointer[i],
		};
	}
	return 0;
}

static void find_roots(struct owned *owned)
{
	owned->have_roots = true;
	owned->roots = 0;
	if (!owned->root)
		owned->root = calloc(ROOTS, sizeof(*owned->root));
	if (owned->root)
		symbols_variables(view_of(owned)->world->symbols, add_roots,
				  owned);
}

static bool leads_to(struct owned *owned, uint64_t addr, uint64_t start)
{
	uint64_t value;

	return pages_words(view_of(owned)->pages, addr, &value, 1) &&
	       value == start;
}

/* A member of the object that a register points to. */
static bool by_object(struct owned *owned, uint64_t addr, struct known *known)
{
	const struct pointers *list;
	struct object object;
	struct type *type;

	if (!cxx_object_at(&owned->cxx, addr, &object))
		return false;
	type = cxx_type(&owned->cxx, object.vtable);
	list = type ? pointers_of(&owned->pointers, type) : NULL;
	for (unsigned i = 0; list && i < list->count; i++) {
		uint64_t at = object.start + list->pointer[i].offset;

		if (!leads_to(owned, at, known->start))
			continue;
		known->owner = at;
		known->pointer = list->pointer[i];
		return true;
	}
	return false;
}

static bool by_registers(struct owned *owned, const struct query *query,
			 struct known *known)
{
	for (unsigned i = 0; query->registers && i < 16; i++)
		if (by_object(owned, query->registers[i], known))
			return true;
	return false;
}

/* All variables, but the more there are, the less often. */
static bool by_roots(struct owned *owned, struct known *known)
{
	if (!owned->have_roots)
		find_roots(owned);
	if (owned->epoch - owned->looked < owned->roots / PER_STOP)
		return false;
	owned->looked = owned->epoch;
	for (size_t i = 0; i < owned->roots; i++) {
		const struct root *root = &owned->root[i];

		if (!leads_to(owned, root->addr, known->start))
			continue;
		known->owner = root->addr;
		known->pointer = root->pointer;
		return true;
	}
	return false;
}

static const struct known *owner_of(struct owned *owned,
				    const struct query *query, uint64_t start)
{
	struct known *known = &owned->known[start / 16 % KNOWN];

	if (known->start == start) {
		if (known->owner && leads_to(owned, known->owner, start))
			return known;
		if (!known->owner && owned->epoch - known->epoch < AGAIN)
			return NULL;
	}
	*known = (struct known){ .start = start, .epoch = owned->epoch };
	if (by_registers(owned, query, known) || by_roots(owned, known))
		return known;
	return NULL;
}

static const char *name_of(struct owned *owned, struct type *type)
{
	char *name = table_get(&owned->names, (uintptr_t)type);

	if (name)
		return name;
	name = type_qualified(type);
	if (name && table_put(&owned->names, (uintptr_t)type, name) < 0) {
		free(name);
		return NULL;
	}
	return name;
}

/*
 * How many elements the block has: what is left over behind them must be
 * malloc's rounding.  0: it does not look like that at all.
 */
static uint64_t elements_of(const struct chunk *chunk,
			    const struct pointer *pointer)
{
	uint64_t size = pointer->type->size, count = chunk->size / size;

	if (pointer->pointee == POINTEE_ONE)
		return count > 0;
	if (pointer->pointee == POINTEE_MANY)
		return count;
	if (chunk->size == MINIMUM && size >= 8)
		return 1;
	return chunk->size - count * size < ROUNDING ? count : count > 0;
}

static void describe(struct owned *owned, const struct pointer *pointer,
		     const struct chunk *chunk, uint64_t addr,
		     struct component *ret)
{
	uint64_t size = pointer->type->size, number, start, count;
	const char *name = name_of(owned, pointer->type);
	bool many = pointer->pointee == POINTEE_MANY;
	char path[COMPONENT_MEMBER];

	count = elements_of(chunk, pointer);
	number = (addr - chunk->start) / size;
	if (!name || number >= count)
		return;
	many |= count > 1;
	start = chunk->start + number * size;
	ret->kind = "object";
	ret->runtime = "c";
	ret->how = "pointer";
	ret->confidence = CONFIDENCE_LIKELY;
	ret->start = chunk->start;
	ret->size = count * size;
	snprintf(ret->name, sizeof(ret->name), "%s%s", name, many ? "[]" : "");
	typed_member(view_of(owned)->pages, pointer->type, start, addr, ret);
	if (!many)
		return;
	strcpy(path, ret->member);
	/* What does not fit is cut. */
	if (snprintf(ret->member, sizeof(ret->member), "[%" PRIu64 "]%s%s",
		     number, *path && *path != '[' ? "." : "", path) < 0)
		ret->member[0] = '\0';
}

static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	struct owned *owned = state;
	const struct known *known;
	struct chunk chunk;

	if (view_on_stack(view_of(owned), query) ||
	    heap_chunk(view_of(owned)->heap, query->addr, &chunk) < 0 ||
	    chunk.free)
		return;
	known = owner_of(owned, query, chunk.start);
	if (known)
		describe(owned, &known->pointer, &chunk, query->addr, ret);
}

static void close_owned(void *state)
{
	struct owned *owned = state;

	table_for_each(&owned->names, slot) free(slot->value);
	table_done(&owned->names);
	pointers_done(&owned->pointers);
	vtables_free(owned->cxx.vtables);
	free(owned->root);
	free(owned);
}

static int open_owned(const struct view *view, void **ret)
{
	struct owned *owned = calloc(1, sizeof(*owned));

	if (!owned)
		return -ENOMEM;
	owned->cxx.view = view;
	owned->cxx.vtables = vtables_new(view->pages, view->world->symbols);
	if (!owned->cxx.vtables) {
		free(owned);
		return -ENOMEM;
	}
	*ret = owned;
	return 0;
}

static void epoch(void *state)
{
	struct owned *owned = state;

	owned->epoch++;
	vtables_epoch(owned->cxx.vtables);
}

static void remap(void *state)
{
	struct owned *owned = state;
	unsigned generation =
		symbols_generation(view_of(owned)->world->symbols);

	vtables_remap(owned->cxx.vtables);
	if (generation == owned->generation)
		return;
	owned->generation = generation;
	owned->have_roots = false;
	memset(owned->known, 0, sizeof(owned->known));
}

const struct runtime runtime_owned = {
	.name = "owned",
	.open = open_owned,
	.close = close_owned,
	.resolve = resolve,
	.epoch = epoch,
	.remap = remap,
};
