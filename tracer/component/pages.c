/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/pages.h"

struct pages *pages_new(const struct memory *memory)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return NULL;
	pages->memory = memory;
	pages->epoch = 1;
	return pages;
}

void pages_free(struct pages *pages)
{
	free(pages);
}

void pages_forget(struct pages *pages)
{
	/* After 2^32 stops an old tag would look fresh. */
	if (++pages->epoch == 0) {
		memset(pages->tag, 0, sizeof(pages->tag));
		pages->epoch = 1;
	}
}

void pages_stored(struct pages *pages, uint64_t addr, const void *bytes,
		  size_t size)
{
	const uint8_t *from = bytes;

	while (size) {
		uint64_t offset = addr % PAGE;
		size_t part = min_u64(size, PAGE - offset);
		size_t slot = (addr / PAGE) % PAGES;

		if (pages->tag[slot].addr == addr - offset &&
		    pages->tag[slot].epoch == pages->epoch)
			memcpy(pages->bytes[slot] + offset, from, part);
		from += part;
		addr += part;
		size -= part;
	}
}

const uint8_t *pages_page(struct pages *pages, uint64_t addr)
{
	size_t slot = (addr / PAGE) % PAGES;

	if (pages->tag[slot].addr != addr ||
	    pages->tag[slot].epoch != pages->epoch) {
		pages->tag[slot].addr = addr;
		pages->tag[slot].epoch = pages->epoch;
		pages->tag[slot].readable =
			memory_read(pages->memory, addr, pages->bytes[slot],
				    PAGE) == 0;
	}
	return pages->tag[slot].readable ? pages->bytes[slot] : NULL;
}

int pages_read(struct pages *pages, uint64_t addr, void *buffer, size_t size)
{
	uint8_t *to = buffer;

	if (size && addr + size - 1 < addr)
		return -EFAULT;
	while (size) {
		uint64_t offset = addr % PAGE;
		size_t part = min_u64(size, PAGE - offset);
		const uint8_t *bytes = pages_page(pages, addr - offset);

		if (!bytes)
			return -EFAULT;
		memcpy(to, bytes + offset, part);
		to += part;
		addr += part;
		size -= part;
	}
	return 0;
}
