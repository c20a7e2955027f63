/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * types - the classes and variables of one file, as DWARF 2 to 5 tells them
 *
 * Nothing is read before the first question; a type's fields not before they
 * are asked for.  What was given out lives as long as the struct types.
 * types.c (types) and types_fields.c (of a class) make values of DWARF;
 * types_index.c finds what there is, types_names.c what it is called.
 *
 * Hostile files are expected: no chain or list of them is followed without a
 * limit.  Files of split DWARF (.dwo) are not opened.
 */

#include "base/macro.h"

struct Dwarf; /* libdw's */
struct types;

enum type_kind {
	TYPE_PLAIN, /* a number, an enumeration, a function ... */
	TYPE_POINTER,
	TYPE_CLASS, /* struct, class, union */
	TYPE_ARRAY,
};

enum { TYPE_DIMENSIONS = 6 };

struct type {
	enum type_kind kind;
	uint64_t size;	  /* bytes; 0: not known, or no end */
	const char *name; /* unqualified; NULL: none */

	/* An array's, the outermost first; 0: as many as there are */
	uint64_t dimension[TYPE_DIMENSIONS];
	unsigned dimensions;

	/* Of a class, after type_load() */
	struct field *field;
	unsigned fields;
};

enum field_kind {
	FIELD_MEMBER,
	FIELD_BASE,
	/* @offset below where the object's vtable pointer points its own
	 * offset is found (Itanium C++ ABI). */
	FIELD_VIRTUAL,
};

struct field {
	enum field_kind kind;
	const char *name; /* NULL: a base, or an anonymous member */
	struct type *type;
	uint64_t offset, size; /* bytes that it touches; size 0: no end */
	unsigned bits;	       /* of a bit field, else 0 */
	bool vptr;	       /* a vtable pointer, by whatever name */
};

/* The struct Dwarf stays the caller's.  NULL: no memory. */
struct types *types_new(struct Dwarf *dwarf);
void types_free(struct types *types);
DEFINE_CLEANUP(types)

/* Read the fields of a class.  false: there are none. */
bool type_load(struct type *type);

/* What a pointer points to, or what an array has; NULL: not known. */
struct type *type_target(struct type *type);

/* An argument of a template, by its number; NULL: none, or no type. */
struct type *type_argument(struct type *type, unsigned number);

/*
 * The class whose name is @name (spelling.h); NULL if there is
 * none, or several that differ.
 */
struct type *types_class(struct types *types, const char *name);

struct variable {
	uint64_t addr; /* of the file; of a thread's: within its block */
	struct type *type;
};

/*
 * The variable that lies at @addr, an address of the file, or, if @thread, an
 * offset in the file's block of thread-local storage.  @local: it may be one
 * of a function, for which all functions are looked through once.
 */
bool types_variable(struct types *types, uint64_t addr, bool thread, bool local,
		    struct variable *ret);

/* All of them, of the file's own storage, until @visit != 0. */
int types_variables(struct types *types,
		    int (*visit)(void *context,
				 const struct variable *variable),
		    void *context);

/* The qualified name (spelling.h) as a new string, or NULL. */
char *type_qualified(struct type *type);
