/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pages - the target's memory, each page read once per stop
 *
 * A small direct-mapped cache, also of what cannot be read.
 */

#include <string.h>

#include "base/memory.h"

enum { PAGES = 64 };

struct pages {
	const struct memory *memory;
	unsigned epoch; /* what was read in another one is void */
	struct {
		uint64_t addr;
		unsigned epoch;
		bool readable;
	} tag[PAGES];
	uint8_t bytes[PAGES][PAGE];
};

struct pages *pages_new(const struct memory *memory);
void pages_free(struct pages *pages);
void pages_forget(struct pages *pages);

/* What was just stored there, by somebody who knows. */
void pages_stored(struct pages *pages, uint64_t addr, const void *bytes,
		  size_t size);

/* 0, or -EFAULT. */
int pages_read(struct pages *pages, uint64_t addr, void *buffer, size_t size);

/* The bytes of one page, until the next is asked for; NULL: none. */
const uint8_t *pages_page(struct pages *pages, uint64_t page);

/* @count words of 8 bytes; false if they cannot be read. */
static inline bool pages_words(struct pages *pages, uint64_t addr,
			       uint64_t *words, size_t count)
{
	uint64_t offset = addr % PAGE;
	const uint8_t *bytes;

	if (offset + count * sizeof(*words) > PAGE)
		return pages_read(pages, addr, words, count * sizeof(*words)) ==
		       0;
	bytes = pages_page(pages, addr - offset);
	if (bytes)
		memcpy(words, bytes + offset, count * sizeof(*words));
	return bytes;
}
