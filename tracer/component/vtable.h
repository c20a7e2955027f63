/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * vtable - from a vtable pointer to the class that it stands for
 *
 * Itanium C++ ABI: the pointer at an object's start points into a vtable,
 * two words behind its beginning; the word before is the type_info, the one
 * before that the (negative) offset to the top of the whole object.  Known by
 * the symbol _ZTV..., and in stripped programs by the type_info.
 */

#include "tracer/component/pages.h"
#include "tracer/process/symbols.h"

struct vtable {
	uint64_t pointer;
	char *name;	 /* the class, demangled; NULL: no vtable */
	const char *how; /* "vtable" or "rtti" */
	int64_t top;	 /* 0: of the whole object, or of its first base */
	unsigned epoch;	 /* when it was looked at */
	unsigned scan;	 /* of the scan that asked last: does it match? */
	bool match;
	bool typed;	   /* it was looked for a type */
	struct type *type; /* of the class, or NULL */
};

struct vtables;

struct vtables *vtables_new(struct pages *pages, struct symbols *symbols);
void vtables_free(struct vtables *vtables);
void vtables_epoch(struct vtables *vtables);
void vtables_remap(struct vtables *vtables); /* forgets all if need be */

/*
 * The class whose vtable @pointer points into, or NULL.  Valid until the next
 * vtables_find() or vtables_remap().
 */
struct vtable *vtables_find(struct vtables *vtables, uint64_t pointer);

/* A bit for each page number modulo so many, where modules lie. */
enum { VTABLE_FILTER = 65536 };

const uint8_t *vtables_filter(const struct vtables *vtables);

/* Can @pointer point into a vtable?  Cheap, for words by the million. */
static inline bool vtable_passes(const uint8_t *filter, uint64_t pointer)
{
	uint64_t page = pointer / PAGE;

	return pointer % 8 == 0 && pointer >= PAGE &&
	       (filter[page % VTABLE_FILTER / 8] & 1 << page % 8);
}

static inline bool vtables_plausible(const struct vtables *vtables,
				     uint64_t pointer)
{
	return vtable_passes(vtables_filter(vtables), pointer);
}

/*
 * The class whose type_info lies at @addr, as a new string; NULL if there is
 * none.
 */
char *vtables_type(struct vtables *vtables, uint64_t addr);
