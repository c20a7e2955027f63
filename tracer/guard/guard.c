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

/* mprotect calls to be made at once. */
struct batch {
	struct protect *list;
	size_t count, capacity;
};

static void batch_done(struct batch *batch)
{
	free(batch->list);
}

static int batch_add(struct batch *batch, uint64_t start, uint64_t end,
		     int prot)
{
	if (batch->count == batch->capacity) {
		size_t capacity = batch->capacity ? batch->capacity * 2 : 64;
		void *p = realloc(batch->list, capacity * sizeof(*batch->list));

		if (!p)
			return -ENOMEM;
		batch->list = p;
		batch->capacity = capacity;
	}
	batch->list[batch->count++] = (struct protect){ start, end, prot, 0 };
	return 0;
}

static int closed_prot(const struct guard *guard, int prot)
{
	return guard->writes_only ? prot & ~PROT_WRITE : PROT_NONE;
}

/*
 * mprotect(2) stops at a hole: what the program unmapped has no rights to give
 * back, but what lies behind it has.
 */
static int give_rights(struct injection *injection, uint64_t start,
		       uint64_t end, int prot)
{
	uint64_t middle = page_down(start + (end - start) / 2);
	int r = inject_protect(injection, start, end, prot);

	if (r != -ENOMEM)
		return r;
	if (end - start <= PAGE)
		return 0;
	r = give_rights(injection, start, middle, prot);
	return first_error(r, give_rights(injection, middle, end, prot));
}

static int give_all(struct injection *injection, struct batch *batch)
{
	int first = inject_protect_all(injection, batch->list, batch->count);

	for (size_t i = 0; first != -ESRCH && i < batch->count; i++) {
		const struct protect *p = &batch->list[i];
		int r = p->result;

		if (r == -ENOMEM)
			r = give_rights(injection, p->start, p->end, p->prot);
		first = first_error(first, r);
	}
	return first;
}

int guard_open(struct guard *guard, struct injection *injection, uint64_t start,
	       uint64_t end)
{
	_cleanup_(batch_done) struct batch batch = { 0 };
	const struct range *next;
	uint64_t at = start;
	int r = 0;

	while (r == 0 && (next = ranges_overlap(&guard->closed, at, end))) {
		r = batch_add(&batch, max_u64(at, next->start),
			      min_u64(end, next->end), (int)next->tag);
		at = next->end;
		if (at >= end)
			break;
	}
	if (r == 0 && batch.count)
		r = give_all(injection, &batch);
	if (r == -ESRCH)
		return r;
	return first_error(r, ranges_remove(&guard->closed, start, end));
}

int guard_drop(struct guard *guard, struct injection *injection, uint64_t start,
	       uint64_t end)
{
	int r = guard_open(guard, injection, start, end);

	r = first_error(r, ranges_add(&guard->dropped, start, end, 0));
	return first_error(r, ranges_remove(&guard->pages, start, end));
}

/* The parts of @page (a range of ours) that are open, to be closed. */
static int add_open_parts(const struct guard *guard, struct batch *batch,
			  struct range page)
{
	int r = 0;

	if (closed_prot(guard, (int)page.tag) == (int)page.tag)
		return 0; /* nothing to take away */
	while (r == 0 && page.start < page.end) {
		const struct range *closed =
			ranges_overlap(&guard->closed, page.start, page.end);
		uint64_t stop = closed ? closed->start : page.end;

		if (page.start < stop)
			r = batch_add(batch, page.start, stop,
				      closed_prot(guard, (int)page.tag));
		page.start = closed ? closed->end : page.end;
	}
	return r;
}

/*
 * Note what was closed; of a range that was refused the first mappings may
 * have been done: they get their rights back.
 */
static int take_closed(struct guard *guard, struct injection *injection,
		       const struct protect *p)
{
	int prot = guard_prot(guard, p->start);

	if (p->result == 0)
		return ranges_add(&guard->closed, p->start, p->end,
				  (uint64_t)prot);
	(void)!give_rights(injection, p->start, p->end, prot);
	return p->result;
}

int guard_close_range(struct guard *guard, struct injection *injection,
		      uint64_t start, uint64_t end)
{
	_cleanup_(batch_done) struct batch batch = { 0 };
	const struct range *page;
	int r = 0;

	while (r == 0 && start < end &&
	       (page = ranges_overlap(&guard->pages, start, end))) {
		struct range part = { max_u64(page->start, start),
				      min_u64(page->end, end), page->tag };

		r = add_open_parts(guard, &batch, part);
		start = part.end;
	}
	if (r == 0)
		r = inject_protect_all(injection, batch.list, batch.count);
	for (size_t i = 0; r == 0 && i < batch.count; i++) {
		const struct protect *p = &batch.list[i];

		r = take_closed(guard, injection, p);
		if (r == 0 || r == -ESRCH)
			continue;
		guard->refused++;
		r = guard_drop(guard, injection, p->start, p->end);
	}
	return r;
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
	_cleanup_(batch_done) struct batch batch = { 0 };
	int r = drop_unwanted(guard, injection, wanted);

	for (size_t i = 0; r == 0 && i < wanted->count; i++) {
		struct range range = wanted->range[i];

		r = ranges_add(&guard->pages, range.start, range.end,
			       range.tag);
		if (r == 0)
			r = add_open_parts(guard, &batch, range);
	}
	if (r == 0)
		r = inject_protect_all(injection, batch.list, batch.count);
	for (size_t i = 0; r == 0 && i < batch.count; i++) {
		const struct protect *p = &batch.list[i];

		r = take_closed(guard, injection, p);
		if (r == 0 || r == -ESRCH)
			continue;
		refused(context, p->start, p->end, r);
		r = guard_drop(guard, injection, p->start, p->end);
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

int guard_reconcile(struct guard *guard, const struct maps *maps)
{
	struct ranges alive = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < guard->pages.count; i++)
		r = reconcile(guard, maps, guard->pages.range[i], &alive);
	if (r < 0) {
		ranges_done(&alive);
		return r;
	}
	ranges_done(&guard->pages);
	guard->pages = alive;
	return 0;
}
