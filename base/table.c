/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/table.h"

void table_done(struct table *table)
{
	free(table->slot);
	*table = (struct table){ 0 };
}

/* Fibonacci hashing: spreads addresses and tids that differ in low bits. */
static size_t home(const struct table *table, uint64_t key)
{
	return (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
	       (table->capacity - 1);
}

static struct table_slot *find(const struct table *table, uint64_t key)
{
	size_t i = home(table, key);

	while (table->slot[i].value && table->slot[i].key != key)
		i = (i + 1) & (table->capacity - 1);
	return &table->slot[i];
}

void *table_get(const struct table *table, uint64_t key)
{
	return table->capacity ? find(table, key)->value : NULL;
}

static int grow(struct table *table)
{
	struct table bigger = {
		.capacity = table->capacity ? table->capacity * 2 : 16,
		.count = table->count,
	};

	bigger.slot = calloc(bigger.capacity, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;

	if (table->count) /* nothing is added to a null pointer */
		table_for_each(table, s) * find(&bigger, s->key) = *s;
	free(table->slot);
	*table = bigger;
	return 0;
}

int table_put(struct table *table, uint64_t key, void *value)
{
	struct table_slot *slot;

	if ((table->count + 1) * 2 > table->capacity) {
		int r = grow(table);

		if (r < 0)
			return r;
	}
	slot = find(table, key);
	table->count += !slot->value;
	*slot = (struct table_slot){ .key = key, .value = value };
	return 0;
}

/* Knuth 6.4 R: close the gap, so that no later probe ends early. */
void table_remove(struct table *table, uint64_t key)
{
	size_t mask = table->capacity - 1;
	size_t hole, i;

	if (!table->capacity || !find(table, key)->value)
		return;

	hole = (size_t)(find(table, key) - table->slot);
	for (i = (hole + 1) & mask; table->slot[i].value; i = (i + 1) & mask) {
		size_t want = home(table, table->slot[i].key);

		if (((i - want) & mask) >= ((i - hole) & mask)) {
			table->slot[hole] = table->slot[i];
			hole = i;
		}
	}
	table->slot[hole].value = NULL;
	table->count--;
}

uint64_t table_hash(const void *data, size_t size)
{
	const uint8_t *byte = data;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash;
}
