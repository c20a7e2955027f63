/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "unwinder/pages.h"

int pages_init(struct pages *pages, uint32_t max, uint32_t ahead)
{
	*pages = (struct pages){
		.max = max,
		.ahead = ahead,
		.mask = 2 * max - 1, /* never more than half full */
		.generation = 1,
		.last = 1,
	};
	pages->slots = calloc(2 * (size_t)max, sizeof(*pages->slots));
	return pages->slots ? 0 : -ENOMEM;
}

void pages_done(struct pages *pages)
{
	free(pages->slots);
	free(pages->data);
	*pages = (struct pages){ 0 };
}

void pages_clear(struct pages *pages)
{
	pages->count = 0;
	pages->last = 1;
	pages->generation++;
	if (pages->generation)
		return;
	/* it wrapped: slots of 2^32 generations ago look alive */
	for (uint32_t i = 0; i <= pages->mask; i++)
		pages->slots[i].generation = 0;
	pages->generation = 1;
}

/* The slot of @page, or the free one where it belongs. */
static struct pages_slot *find(const struct pages *pages, uint64_t page)
{
	uint32_t i = (page / PAGE * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

	for (;; i++) {
		struct pages_slot *slot = &pages->slots[i & pages->mask];

		if (slot->generation != pages->generation || slot->page == page)
			return slot;
	}
}

static bool is_known(const struct pages *pages, uint64_t page)
{
	return find(pages, page)->generation == pages->generation;
}

static int make_room(struct pages *pages)
{
	uint32_t want = pages->count + pages->ahead;
	char *data;

	if (want > pages->max) {
		pages_clear(pages);
		want = pages->ahead;
	}
	if (want <= pages->allocated)
		return 0;
	want = max_u64(want,
		       min_u64(2 * (uint64_t)pages->allocated, pages->max));
	data = realloc(pages->data, want * PAGE);
	if (!data)
		return -ENOMEM;
	pages->data = data;
	pages->allocated = want;
	pages->last = 1; /* its copy may have moved */
	return 0;
}

/* Read @page and, where they can be read and are new, those behind it. */
static int load(struct pages *pages, const struct memory *memory, uint64_t page)
{
	uint32_t n = 1;
	char *data;
	int r;

	r = make_room(pages);
	if (r < 0)
		return r;
	data = pages->data + pages->count * PAGE;
	while (n < pages->ahead && page + n * PAGE > page &&
	       !is_known(pages, page + n * PAGE))
		n++;
	r = memory_read(memory, page, data, n * PAGE);
	if (r == -EFAULT && n > 1) {
		n = 1;
		r = memory_read(memory, page, data, PAGE);
	}
	if (r < 0)
		return r;

	for (uint32_t i = 0; i < n; i++) {
		*find(pages, page + i * PAGE) = (struct pages_slot){
			.page = page + i * PAGE,
			.index = pages->count++,
			.generation = pages->generation,
		};
	}
	return 0;
}

int pages_get(struct pages *pages, const struct memory *memory, uint64_t page,
	      const char **ret)
{
	if (pages->last != page) {
		if (!is_known(pages, page)) {
			int r = load(pages, memory, page);

			if (r < 0)
				return r;
		}
		pages->last = page;
		pages->last_data =
			pages->data + find(pages, page)->index * PAGE;
	}
	*ret = pages->last_data;
	return 0;
}
