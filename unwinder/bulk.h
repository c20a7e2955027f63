/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * bulk - the parts of a stack that one walk needs, a read each
 *
 * Reading 10 KiB costs little more than reading a word, so a part goes from
 * the stack pointer to the deepest slot.  A word outside comes from the image.
 */

#include "unwinder/image.h"

enum {
	BULK_PARTS = 8,
	BULK_MAX = 1 << 22, /* bytes in all */
	/* A second read costs about as much as so many bytes more. */
	BULK_GAP = 16384,
	RED_ZONE = 128, /* below the sp, and in use */
};

struct bulk_part {
	uint64_t start, words; /* so many whole ones */
	size_t at;	       /* its first byte in bulk.bytes */
};

struct bulk {
	struct bulk_part part[BULK_PARTS]; /* that of the sp is the first */
	unsigned parts;
	char *bytes;
	size_t used, allocated;
};

void bulk_done(struct bulk *bulk);
void bulk_clear(struct bulk *bulk);

/*
 * Read [@start, @end), multiples of 8, and keep it as the next part.  0;
 * -EFAULT if it cannot be read; -E2BIG; another -errno of @memory.
 */
int bulk_add(struct bulk *bulk, const struct memory *memory, uint64_t start,
	     uint64_t end) _must_check_;

/*
 * The stack goes on beyond the last part, to the word at @addr: make it as long
 * again, or as far as the end of the page.  That part, or NULL.
 */
const struct bulk_part *bulk_more(struct bulk *bulk,
				  const struct memory *memory, uint64_t addr);

/* The part that holds the word at @addr, a multiple of 8, or NULL. */
static inline const struct bulk_part *bulk_part(const struct bulk *bulk,
						uint64_t addr)
{
	for (unsigned i = 0; i < bulk->parts; i++) {
		const struct bulk_part *part = &bulk->part[i];

		if ((addr - part->start) / 8 < part->words)
			return part;
	}
	return NULL;
}

static inline int bulk_word(const struct bulk *bulk, struct image *image,
			    uint64_t addr, uint64_t *value)
{
	const struct bulk_part *part = bulk_part(bulk, addr);

	if (!part)
		return image_word(image, addr, value);
	__builtin_memcpy(value, bulk->bytes + part->at + (addr - part->start),
			 sizeof(*value));
	return 0;
}
