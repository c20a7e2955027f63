/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * table - a map from a 64-bit key to a pointer
 *
 * Open addressing with linear probing, at most half full; a look-up on the
 * path of a trap costs a few nanoseconds.  Values are the caller's.
 */

#include "base/macro.h"

struct table_slot {
	uint64_t key;
	void *value; /* NULL: free */
};

struct table {
	struct table_slot *slot;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

void table_done(struct table *table);

/* The value of @key, or NULL. */
void *table_get(const struct table *table, uint64_t key);

/* Set or replace; @value is not NULL.  0 or -ENOMEM. */
int table_put(struct table *table, uint64_t key, void *value) _must_check_;

void table_remove(struct table *table, uint64_t key);

/* The slots in no order: skip those without a value. */
#define table_for_each(table, s)                                               \
	for (struct table_slot *s = (table)->slot;                             \
	     s && s < (table)->slot + (table)->capacity; s++)                  \
		if (s->value)

uint64_t table_hash(const void *data, size_t size); /* FNV-1a, 64 bits */
