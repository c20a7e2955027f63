/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>

#include "tracer/guard/guard.h"

void guard_done(struct guard *guard)
{
	ranges_done(&guard->pages);
	ranges_done(&guard->closed);
	ranges_done(&guard->dropped);
}

int guard_prot(const struct guard *guard, uint64_t addr)
{
	const struct range *range = ranges_find(&guard->pages, addr);

	return range ? (int)range->tag : -1;
}

static int closed_prot(const struct guard *guard, int prot)
{
	return guard->writes_only ? prot & ~PROT_WRITE : PROT_NONE;
}

static int take_rights(struct guard *guard, struct injection *injection,
		       uint64_t start, uint64_t end, int prot)
{
	int r;

	if (closed_prot(guard, prot) == prot)
		return 0; /* nothing to take away */
	r = inject_protect(injection, start, end, closed_prot(guard, prot));
	if (r == 0)
		return ranges_add(&guard->closed, start, end, (uint64_t)prot);
	/* The kernel may have done the first mappings of several. */
	if (r != -ESRCH)
		(void)!inject_protect(injection, start, end, prot);
	return r;
}

int guard_open(struct guard *guard, struct injection *injection, uint64_t start,
	       uint64_t end)
{
	const struct range *next;
	int first = 0;

	while ((next = ranges_overlap(&guard->closed, start, end))) {
		uint64_t low = max_u64(start, next->start);
		uint64_t high = min_u64(end, next->end);
		int r = inject_protect(injection, low, high, (int)next->tag);

		if (r == -ESRCH)
			return r;
		first = first_error(first, r);
		r = ranges_remove(&guard->closed, low, high);
		if (r < 0)
			return r;
	}
	return first;
}

int guard_drop(struct guard *guard, struct injection *injection, uint64_t start,
	       uint64_t end)
{
	int r = guard_open(guard, injection, start, end);

	r = first_error(r, ranges_add(&guard->dropped, start, end, 0));
	return first_error(r, ranges_remove(&guard->pages, start, end));
}

/* Close the parts of @page (one range of ours) that are open. */
static int close_parts(struct guard *guard, struct injection *injection,
		       struct range page)
{
	while (page.start < page.end) {
		const struct range *closed =
			ranges_overlap(&guard->closed, page.start, page.end);
		uint64_t stop = closed ? closed->start : page.end;
		uint64_t next = closed ? closed->end : page.end;
		int r = 0;

		if (page.start < stop)
			r = take_rights(guard, injection, page.start, stop,
					(int)page.tag);
		if (r < 0)
			return r;
		page.start = next;
	}
	return 0;
}

int guard_close_range(struct guard *guard, struct injection *injection,
		      uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct range *page =
			ranges_overlap(&guard->pages, start, end);
		struct range part;
		int r;

		if (!page)
			return 0;
		part = (struct range){ max_u64(page->start, start),
				       min_u64(page->end, end), page->tag };
		r = close_parts(guard, injection, part);
		if (r < 0)
			return r;
		start = part.end;
	}
	return 0;
}

int guard_close(struct guard *guard, struct injection *injection)
{
	return guard_close_range(guard, injection, 0, UINT64_MAX);
}

/* Open and forget the pages of ours that @wanted does not hold. */
static int drop_unwanted(struct guard *guard, struct injection *injection,
			 const struct ranges *wanted)
{
	struct ranges extra = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < guard->pages.count; i++)
		r = ranges_add(&extra, guard->pages.range[i].start,
			       guard->pages.range[i].end, 0);
	for (size_t i = 0; r == 0 && i < wanted->count; i++)
		r = ranges_remove(&extra, wanted->range[i].start,
				  wanted->range[i].end);
	for (size_t i = 0; r == 0 && i < extra.count; i++)
		r = guard_drop(guard, injection, extra.range[i].start,
			       extra.range[i].end);
	ranges_done(&extra);
	return r;
}

int guard_arm(struct guard *guard, struct injection *injection,
	      const struct ranges *wanted,
	      void (*refused)(void *context, uint64_t start, uint64_t end,
			      int number),
	      void *context)
{
	int r = drop_unwanted(guard, injection, wanted);

	for (size_t i = 0; r == 0 && i < wanted->count; i++) {
		struct range range = wanted->range[i];

		r = ranges_add(&guard->pages, range.start, range.end,
			       range.tag);
		if (r == 0)
			r = close_parts(guard, injection, range);
		if (r == 0 || r == -ESRCH)
			continue;
		refused(context, range.start, range.end, r);
		r = guard_drop(guard, injection, range.start, range.end);
	}
	return r;
}

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

int guard_reconcile(struct guard *guard, const struct maps *maps)
{
	struct ranges alive = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < guard->pages.count; i++) {
		struct range page = guard->pages.range[i];

		/* A closed page shows our rights, not the program's. */
		if (ranges_overlap(&guard->closed, page.start, page.end))
			r = ranges_add(&alive, page.start, page.end, page.tag);
		else
			r = survivors(maps, page, &alive);
	}
	if (r < 0) {
		ranges_done(&alive);
		return r;
	}
	ranges_done(&guard->pages);
	guard->pages = alive;
	return 0;
}
