/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cxx - objects of C++ classes that have virtual functions or bases
 *
 * What cxx.c (one address), cxx_room.c (the block around it), cxx_scan.c (all
 * of a range) and cxx_classes.c (all names) share.
 */

#include "tracer/component/runtime.h"
#include "tracer/component/vtable.h"

struct cxx {
	const struct view *view;
	struct vtables *vtables;
	unsigned scan; /* counts up with each scan */
};

/* A whole object: its start, and what its vtable pointer is. */
struct object {
	uint64_t start;
	uint64_t pointer;
	struct vtable *vtable; /* until the next look at a vtable */
};

/* Is there an object, or a base of one, at @addr? */
bool cxx_object_at(struct cxx *cxx, uint64_t addr, struct object *ret);

/* Is there a whole object that starts at @addr itself? */
bool cxx_starts_at(struct cxx *cxx, uint64_t addr, struct object *ret);

/* What certainly is one thing: a block of the heap, or a variable. */
struct room {
	enum { ROOM_NONE, ROOM_BLOCK, ROOM_FREE, ROOM_SYMBOL } kind;
	uint64_t start, end;
};

/* On a stack it is what debug information tells of. */
struct room cxx_room(struct cxx *cxx, const struct query *query);

/*
 * Without a walk of the heap: the bytes from @addr, where an object is known
 * to start, to the end of its block, if nothing else starts that block.
 */
bool cxx_block_at(struct cxx *cxx, uint64_t addr, struct chunk *ret);

void cxx_describe(const struct object *object, uint64_t size,
		  enum confidence confidence, struct component *ret);

/* The class as DWARF tells it; NULL: nobody does. */
struct type *cxx_type(struct cxx *cxx, struct vtable *vtable);

/* The member that holds @addr, into ret->member. */
void cxx_member(struct cxx *cxx, const struct object *object, uint64_t addr,
		struct component *ret);
size_t cxx_find_member(void *state, const struct component *object,
		       const char *path, struct extent *ret, size_t max);

int cxx_each(void *state, const struct scan *scan);
int cxx_classes(void *state, int (*visit)(void *context, const char *name),
		void *context);
