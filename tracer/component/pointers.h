/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pointers - where a class has pointers, and what they lead to
 *
 * Also inside of its members and bases: a std::vector, std::unique_ptr or
 * std::string is a pointer with a name that tells whether one element or many
 * lie behind it.
 */

#include "base/table.h"
#include "tracer/process/types.h"

enum { POINTERS = 128 };

enum pointee { POINTEE_ANY, POINTEE_ONE, POINTEE_MANY };

struct pointer {
	uint64_t offset;
	enum pointee pointee;
	struct type *type; /* of an element; its size is known */
};

struct pointers {
	unsigned count;
	struct pointer pointer[];
};

struct pointers_cache {
	struct table types; /* struct type -> struct pointers */
};

void pointers_done(struct pointers_cache *cache);

/* Of a class or array; NULL: none, or no room for more. */
const struct pointers *pointers_of(struct pointers_cache *cache,
				   struct type *type);
