/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "unwinder/bulk.h"

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

int bulk_add(struct bulk *bulk, const struct memory *memory, uint64_t start,
	     uint64_t end)
{
	uint64_t size = end - start;
	int r;

	if (bulk->parts == BULK_PARTS || size > BULK_MAX - bulk->used)
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
	if (r < 0)
		return r;
	bulk->part[bulk->parts++] = (struct bulk_part){
		.start = start,
		.words = size / 8,
		.at = bulk->used,
	};
	bulk->used += size;
	return 0;
}
