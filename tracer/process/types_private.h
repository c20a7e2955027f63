/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * types_private - DWARF for types*.c and locals.c, which beside lines.c and scopes.c know
 * libdw
 */

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/table.h"
#include "tracer/process/types.h"

enum {
	MAX_CHAIN = 64,	     /* typedefs and qualifiers in a row */
	MAX_TYPES = 1 << 18, /* looked at */
};

/* No type is larger. */
#define MAX_TYPE_SIZE (UINT64_C(1) << 47)

struct index;

struct types {
	Dwarf *dwarf;
	struct table known; /* a DIE's address -> struct entry */
	struct index *index;
	struct locals *locals; /* locals.c's; NULL: nobody asked */
	unsigned nested; /* arrays that are being measured */
};

/* The rest of a struct type. */
struct entry {
	struct type type;
	struct types *types;
	Dwarf_Die die;
	bool loaded, targeted;
	struct type *target;
};

/* The type that @die, without typedefs and qualifiers, is; NULL: none. */
struct type *types_of_die(struct types *types, Dwarf_Die *die);

/* The type of the thing that @die is. */
struct type *types_type_of(struct types *types, Dwarf_Die *die);

/* All fields of a class, once. */
void types_fields(struct entry *entry);

bool die_number(Dwarf_Die *die, unsigned key, uint64_t *ret);
bool die_flag(Dwarf_Die *die, unsigned key);

/* The first child, or next sibling; false: there is none behind @die. */
bool die_child(Dwarf_Die *die, Dwarf_Die *ret);
bool die_next(Dwarf_Die *die);

void index_free(struct index *index);
void locals_free(struct locals *locals);
