/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "unwinder/bulk.h"

enum { MORE_MAX = 1 << 17 };

void bulk_done(struct bulk *bulk)
{
	free(bulk->bytes);
	*bulk = (struct bulk){ 0 };
}

void bulk_clear(struct bulk *bulk)
{
	bulk->parts = 0;
	bulk->used = 0;
}

/* Read @size bytes more, behind all others. */
static int append(struct bulk *bulk, const struct memory *memory,
		  uint64_t start, uint64_t size)
{
	int r;

	if (size > BULK_MAX - bulk->used)
		return -E2BIG;
	if (bulk->used + size > bulk->allocated) {
		size_t want = max_u64(bulk->used + size, 2 * bulk->allocated);
		char *bytes = realloc(bulk->bytes, want);

		if (!bytes)
			return -ENOMEM;
		bulk->bytes = bytes;
		bulk->allocated = want;
	}
	r = memory_read(memory, start, bulk->bytes + bulk->used, size);
	if (r == 0)
		bulk->used += size;
	return r;
}

int bulk_add(struct bulk *bulk, const struct memory *memory, uint64_t start,
	     uint64_t end)
{
	size_t at = bulk->used;
	int r;

	if (bulk->parts == BULK_PARTS)
		return -E2BIG;
	r = append(bulk, memory, start, end - start);
	if (r < 0)
		return r;
	bulk->part[bulk->parts++] = (struct bulk_part){
		.start = start,
		.words = (end - start) / 8,
		.at = at,
	};
	return 0;
}

const struct bulk_part *bulk_more(struct bulk *bulk,
				  const struct memory *memory, uint64_t addr)
{
	struct bulk_part *part = bulk->part + bulk->parts - 1;
	uint64_t end, most, least;

	if (!bulk->parts)
		return NULL;
	end = part->start + part->words * 8;
	most = min_u64(max_u64(part->words * 8, PAGE), MORE_MAX);
	least = page_down(end) + PAGE - end;
	if (addr - end >= most)
		return NULL; /* below it, or another stack */
	if (append(bulk, memory, end, most) == 0)
		part->words += most / 8;
	else if (addr - end < least && append(bulk, memory, end, least) == 0)
		part->words += least / 8;
	else
		return NULL;
	return part;
}
