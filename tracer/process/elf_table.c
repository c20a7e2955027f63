/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/elf.h"

/* How many entries below an address are looked at for one that covers it. */
enum { MAX_BACK = 256 };

/* By address; of aliases the global one, the typed one, the shortest name. */
static int compare(const void *a, const void *b)
{
	const struct elf_entry *x = a, *y = b;
	size_t nx, ny;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->global != y->global)
		return x->global ? -1 : 1;
	if (x->typed != y->typed)
		return x->typed ? -1 : 1;
	nx = strlen(x->name);
	ny = strlen(y->name);
	if (nx != ny)
		return nx < ny ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool same(const struct elf_entry *a, const struct elf_entry *b)
{
	return a->addr == b->addr && !strcmp(a->name, b->name);
}

/* How many are left. */
static size_t sort(struct elf_entry *entry, size_t count)
{
	uint64_t reach = 0;
	size_t n = 0;

	if (!count)
		return 0;
	qsort(entry, count, sizeof(*entry), compare);
	for (size_t i = 0; i < count; i++) {
		/* .dynsym repeats .symtab */
		if (n && same(&entry[n - 1], &entry[i]))
			continue;
		reach = max_u64(reach, entry[i].addr + entry[i].size);
		entry[n] = entry[i];
		entry[n++].reach = reach;
	}
	return n;
}

void elf_table_sort(struct elf_table *table)
{
	table->count = sort(table->entry, table->count);
	table->threads = sort(table->thread, table->threads);
}

void elf_table_done(struct elf_table *table)
{
	for (size_t i = 0; i < table->nstrings; i++)
		free(table->strings[i]);
	free(table->strings);
	free(table->entry);
	free(table->thread);
	*table = (struct elf_table){ 0 };
}

/* How many entries start at @addr or below. */
static size_t not_above(const struct elf_table *table, uint64_t addr)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->entry[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * A symbol without a size (assembly) reaches to the next one of any kind.
 * Untyped marks among data (__bss_start, _edata) name no thing.
 */
static bool covers(const struct elf_entry *entry, uint64_t nearest,
		   uint64_t addr)
{
	if (entry->size)
		return addr - entry->addr < entry->size;
	return entry->addr == nearest && addr < entry->limit &&
	       (entry->function || entry->typed);
}

const struct elf_entry *elf_table_at(const struct elf_table *table,
				     uint64_t addr)
{
	size_t count = not_above(table, addr), last;
	const struct elf_entry *best = NULL;
	uint64_t nearest;

	if (!count)
		return NULL;
	nearest = table->entry[count - 1].addr;
	last = count > MAX_BACK ? count - MAX_BACK : 0;
	for (size_t i = count; i-- > last;) {
		const struct elf_entry *entry = &table->entry[i];

		if (best && entry->addr != best->addr)
			break;
		if (entry->addr != nearest && entry->reach <= addr)
			break;
		/* Aliases stand best first, and we come from behind. */
		if (covers(entry, nearest, addr))
			best = entry;
	}
	return best;
}

uint64_t elf_table_stretch(const struct elf_table *table,
			   const struct elf_entry *entry)
{
	const struct elf_entry *next = entry + 1;
	uint64_t end = entry->addr + entry->size;

	if (entry > table->entry && entry[-1].addr == entry->addr)
		return entry->addr;
	return next < table->entry + table->count ? min_u64(end, next->addr)
						  : end;
}
