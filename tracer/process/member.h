/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * member - from a byte of a variable or object to the member's path, and back
 *
 *	limits[3].max	grid[1][2]	{low,high}	value.{i|bytes[2]}
 *
 * Members of bases are named as in the class itself, those of an anonymous
 * struct or union, too.  Bit fields that share the byte stand in braces with
 * commas, what lies one over the other, as in a union, with bars.  Bytes of
 * no member are <padding>, a vtable pointer is <vptr>.
 */

#include "base/memory.h"
#include "tracer/process/types.h"

/* The object itself: only it knows where its virtual bases are. */
struct subject {
	const struct memory *memory; /* NULL: they are not looked for */
	uint64_t start;
};

/*
 * The path of the byte at @offset.  "" for a whole that has no members; false
 * if nothing is known of that byte.
 */
bool member_path(struct type *type, uint64_t offset,
		 const struct subject *subject, char *ret, size_t room);

struct extent {
	uint64_t offset, size;
	struct type *type;
};

/*
 * What @path leads to, all of it if several bases have a member of that name.
 * Returns how many there are, at most @max of them are stored.
 */
size_t member_find(struct type *type, const char *path,
		   const struct subject *subject, struct extent *ret,
		   size_t max);
