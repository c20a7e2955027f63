/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/guard/ranges.h"

void ranges_done(struct ranges *ranges)
{
	free(ranges->range);
	*ranges = (struct ranges){ 0 };
}

void ranges_clear(struct ranges *ranges)
{
	ranges->count = 0;
}

/* The index of the first range that ends above @addr. */
static size_t above(const struct ranges *ranges, uint64_t addr)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ranges->range[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct range *ranges_overlap(const struct ranges *ranges, uint64_t start,
				   uint64_t end)
{
	size_t i = above(ranges, start);

	if (start >= end || i == ranges->count || ranges->range[i].start >= end)
		return NULL;
	return &ranges->range[i];
}

const struct range *ranges_find(const struct ranges *ranges, uint64_t addr)
{
	size_t i = above(ranges, addr);

	if (i == ranges->count || ranges->range[i].start > addr)
		return NULL;
	return &ranges->range[i];
}

static int insert(struct ranges *ranges, size_t at, struct range range)
{
	if (ranges->count == ranges->capacity) {
		size_t capacity = ranges->capacity ? ranges->capacity * 2 : 16;
		void *p = realloc(ranges->range,
				  capacity * sizeof(*ranges->range));

		if (!p)
			return -ENOMEM;
		ranges->range = p;
		ranges->capacity = capacity;
	}
	memmove(&ranges->range[at + 1], &ranges->range[at],
		(ranges->count - at) * sizeof(range));
	ranges->range[at] = range;
	ranges->count++;
	return 0;
}

static void erase(struct ranges *ranges, size_t at)
{
	ranges->count--;
	memmove(&ranges->range[at], &ranges->range[at + 1],
		(ranges->count - at) * sizeof(*ranges->range));
}

/* Join @at with the one before it where they touch and carry the same tag. */
static void join(struct ranges *ranges, size_t at)
{
	struct range *low, *high;

	if (at == 0 || at >= ranges->count)
		return;
	low = &ranges->range[at - 1];
	high = &ranges->range[at];
	if (low->end != high->start || low->tag != high->tag)
		return;
	low->end = high->end;
	erase(ranges, at);
}

int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end,
	       uint64_t tag)
{
	while (start < end) {
		size_t i = above(ranges, start);
		uint64_t stop = end, next = end;
		int r;

		if (i < ranges->count && ranges->range[i].start < end) {
			stop = ranges->range[i].start;
			next = ranges->range[i].end;
		}
		if (start < stop) {
			r = insert(ranges, i,
				   (struct range){ start, stop, tag });
			if (r < 0)
				return r;
			join(ranges, i + 1);
			join(ranges, i);
		}
		start = next;
	}
	return 0;
}

int ranges_remove(struct ranges *ranges, uint64_t start, uint64_t end)
{
	for (;;) {
		size_t i = above(ranges, start);
		struct range *range = &ranges->range[i];
		struct range rest;
		int r;

		if (start >= end || i == ranges->count || range->start >= end)
			return 0;
		rest = (struct range){ end, range->end, range->tag };
		if (range->start < start) {
			range->end = start;
			i++;
		} else {
			erase(ranges, i);
		}
		if (rest.start >= rest.end)
			continue;
		r = insert(ranges, i, rest);
		if (r < 0)
			return r;
	}
}

int ranges_join(struct ranges *ranges, const struct ranges *more)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < more->count; i++)
		r = ranges_add(ranges, more->range[i].start, more->range[i].end,
			       more->range[i].tag);
	return r;
}
