/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/pointers.h"

enum {
	MAX_DEPTH = 10,
	MAX_ELEMENTS = 32, /* of an array inside a class */
	MAX_FIELDS = 4096, /* looked at for one class */
	MAX_TYPES = 8192,
};

struct gather {
	struct pointers *list;
	unsigned looked;
};

/* libstdc++ and libc++ */
static enum pointee pointee_of(const char *name)
{
	static const struct {
		const char *name;
		enum pointee pointee;
	} known[] = {
		{ "_M_start", POINTEE_MANY },	 { "__begin_", POINTEE_MANY },
		{ "_M_p", POINTEE_MANY },	 { "__data_", POINTEE_MANY },
		{ "_M_head_impl", POINTEE_ONE }, { "_M_ptr", POINTEE_ONE },
		{ "__value_", POINTEE_ONE },	 { "__ptr_", POINTEE_ONE },
	};

	for (size_t i = 0; name && i < ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].pointee;
	return POINTEE_ANY;
}

static void gather(struct gather *g, struct type *type, const char *name,
		   uint64_t offset, unsigned depth);

static void gather_fields(struct gather *g, struct type *type, uint64_t offset,
			  unsigned depth)
{
	if (!type_load(type))
		return;
	for (unsigned i = 0; i < type->fields; i++) {
		const struct field *field = &type->field[i];

		if (g->looked++ > MAX_FIELDS)
			return;
		if (field->kind != FIELD_VIRTUAL && !field->vptr)
			gather(g, field->type, field->name,
			       offset + field->offset, depth + 1);
	}
}

static void gather(struct gather *g, struct type *type, const char *name,
		   uint64_t offset, unsigned depth)
{
	struct type *target;
	uint64_t count;

	if (depth > MAX_DEPTH || g->list->count == POINTERS)
		return;
	switch (type->kind) {
	case TYPE_CLASS:
		gather_fields(g, type, offset, depth);
		break;
	case TYPE_ARRAY:
		target = type_target(type);
		if (!target || target->kind == TYPE_PLAIN || !target->size)
			break;
		count = min_u64(type->size / target->size, MAX_ELEMENTS);
		for (uint64_t i = 0; i < count; i++)
			gather(g, target, NULL, offset + i * target->size,
			       depth + 1);
		break;
	case TYPE_POINTER:
		target = type_target(type);
		if (target && target->size)
			g->list->pointer[g->list->count++] =
				(struct pointer){ offset, pointee_of(name),
						  target };
		break;
	case TYPE_PLAIN:
		break;
	}
}

const struct pointers *pointers_of(struct pointers_cache *cache,
				   struct type *type)
{
	struct pointers *list = table_get(&cache->types, (uintptr_t)type);
	struct gather g = { 0 };

	if (list)
		return list;
	if (cache->types.count == MAX_TYPES)
		return NULL;
	list = calloc(1, sizeof(*list) + POINTERS * sizeof(struct pointer));
	if (!list)
		return NULL;
	g.list = list;
	gather(&g, type, NULL, 0, 0);
	g.list = realloc(list,
			 sizeof(*list) + list->count * sizeof(struct pointer));
	if (g.list)
		list = g.list;
	if (table_put(&cache->types, (uintptr_t)type, list) < 0) {
		free(list);
		return NULL;
	}
	return list;
}

void pointers_done(struct pointers_cache *cache)
{
	table_for_each(&cache->types, slot) free(slot->value);
	table_done(&cache->types);
}
