/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/guard/guard.h"

/* One range of ours against the map: its living parts, with their rights. */
static int survivors(const struct maps *maps, struct range page,
		     struct ranges *ret)
{
	while (page.start < page.end) {
		const struct mapping *m = maps_above(maps, page.start);
		uint64_t low, high;
		int r;

		if (!m || m->start >= page.end)
			return 0;
		low = max_u64(m->start, page.start);
		high = min_u64(m->end, page.end);
		r = ranges_add(ret, low, high, (uint64_t)m->prot);
		if (r < 0)
			return r;
		page.start = high;
	}
	return 0;
}

/* A closed part shows our rights, not the program's, and is kept as it is. */
static int reconcile(const struct guard *guard, const struct maps *maps,
		     struct range page, struct ranges *alive)
{
	int r = 0;

	while (r == 0 && page.start < page.end) {
		const struct range *closed =
			ranges_overlap(&guard->closed, page.start, page.end);
		struct range open = page;

		open.end =
			closed ? max_u64(closed->start, page.start) : page.end;
		r = survivors(maps, open, alive);
		if (r < 0 || !closed)
			return r;
		page.start = min_u64(closed->end, page.end);
		r = ranges_add(alive, open.end, page.start, page.tag);
	}
	return r;
}

/*
 * What the program mapped anew over a closed page, and what it unmapped, is
 * not closed any longer.
 */
static int forget_reopened(struct guard *guard, const struct maps *maps)
{
	struct ranges closed = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < guard->closed.count; i++) {
		struct range range = guard->closed.range[i];
		int prot = (int)range.tag;
		const struct mapping *m = maps_above(maps, range.start);
		const struct mapping *stop = maps->mapping + maps->count;

		for (; r == 0 && m && m < stop && m->start < range.end; m++)
			if (guard_looks_closed(guard, m->prot, prot))
				r = ranges_add(
					&closed, max_u64(m->start, range.start),
					min_u64(m->end, range.end), range.tag);
	}
	if (r < 0) {
		ranges_done(&closed);
		return r;
	}
	ranges_done(&guard->closed);
	guard->closed = closed;
	return 0;
}

int guard_reconcile(struct guard *guard, const struct maps *maps)
{
	struct ranges alive = { 0 };
	int r = forget_reopened(guard, maps);

	for (size_t i = 0; r == 0 && i < guard->pages.count; i++)
		r = reconcile(guard, maps, guard->pages.range[i], &alive);
	if (r < 0) {
		ranges_done(&alive);
		return r;
	}
	ranges_done(&guard->pages);
	guard->pages = alive;
	guard_publish(guard);
	return 0;
}
