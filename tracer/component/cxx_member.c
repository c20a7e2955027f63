/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/component/cxx.h"
#include "tracer/component/typed.h"

struct type *cxx_type(struct cxx *cxx, struct vtable *vtable)
{
	if (!vtable->typed)
		vtable->type = symbols_class(cxx->view->world->symbols,
					     vtable->pointer, vtable->name);
	vtable->typed = true;
	return vtable->type;
}

void cxx_member(struct cxx *cxx, const struct object *object, uint64_t addr,
		struct component *ret)
{
	struct type *type = cxx_type(cxx, object->vtable);

	if (type && addr - object->start < type->size)
		typed_member(cxx->view->pages, type, object->start, addr, ret);
	else if (addr - object->start < 8)
		snprintf(ret->member, sizeof(ret->member), "<vptr>");
}

size_t cxx_find_member(void *state, const struct component *object,
		       const char *path, struct extent *ret, size_t max)
{
	struct cxx *cxx = state;
	struct object found;
	struct type *type;

	if (!cxx_starts_at(cxx, object->start, &found))
		return 0;
	type = cxx_type(cxx, found.vtable);
	if (!type)
		return 0;
	return typed_find(cxx->view->pages, type, object->start, path, ret,
			  max);
}
