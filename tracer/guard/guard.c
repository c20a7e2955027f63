/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>

#include "tracer/guard/guard.h"
#include "tracer/process/survival_layout.h"

void guard_done(struct guard *guard)
{
	ranges_done(&guard->pages);
	ranges_done(&guard->closed);
	ranges_done(&guard->dropped);
	ranges_done(&guard->seen);
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

int guard_closed_prot(const struct guard *guard, int prot)
{
	return guard->writes_only ? prot & ~PROT_WRITE : PROT_NONE;
}

/* Personalities may add PROT_EXEC to what mprotect(2) is asked for. */
bool guard_looks_closed(const struct guard *guard, int shown, int prot)
{
	int differs = shown ^ guard_closed_prot(guard, prot);

	return !(differs & (PROT_READ | PROT_WRITE));
}

/*
 * mprotect(2) stops at a hole: what the program unmapped has no rights to give
 * back, but what lies behind it has.  -ENOMEM of what is mapped is the limit
 * of mappings: then it still is closed.
 */
static int give_rights(struct injection *injection, uint64_t start,
		       uint64_t end, int prot)
{
	struct process *process = injection->thread->process;
	const struct mapping *m, *stop;
	int r = inject_protect_back(injection, start, end, prot);

	if (r != -ENOMEM)
		return r;
	process->maps_stale = true;
	r = process_remap(process);
	if (r < 0)
		return r;
	m = maps_above(process->maps, start);
	stop = process->maps->mapping + process->maps->count;
	for (; r == 0 && m && m < stop && m->start < end; m++)
		r = inject_protect_back(injection, max_u64(m->start, start),
					min_u64(m->end, end), prot);
	return r;
}

/* What could not be given back stays noted as closed, to be tried again. */
static int give_all(struct guard *guard, struct injection *injection,
		    struct batch *batch)
{
	int first;

	for (size_t i = 0; guard->opening && i < batch->count; i++)
		guard->opening(guard->context, batch->list[i].start,
			       batch->list[i].end);
	first = inject_protect_all(injection, batch->list, batch->count);
	if (first < 0)
		return first;
	for (size_t i = 0; first != -ESRCH && i < batch->count; i++) {
		const struct protect *p = &batch->list[i];
		int r = p->result;

		if (r == -ENOMEM)
			r = give_rights(injection, p->start, p->end, p->prot);
		if (r == 0)
			r = ranges_remove(&guard->closed, p->start, p->end);
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
	return r == 0 && batch.count ? give_all(guard, injection, &batch) : r;
}

/* With their rights, for children that were forked while it was closed. */
static int note_dropped(struct guard *guard, uint64_t start, uint64_t end)
{
	const struct range *page;
	int r = ranges_remove(&guard->dropped, start, end);

	while (r == 0 && start < end &&
	       (page = ranges_overlap(&guard->pages, start, end))) {
		uint64_t stop = min_u64(page->end, end);

		r = ranges_add(&guard->dropped, max_u64(page->start, start),
			       stop, page->tag);
		start = stop;
	}
	return r;
}

void guard_publish(const struct guard *guard)
{
	struct survival_table *table =
		guard->survival ? survival_table(guard->survival) : NULL;

	if (!table)
		return;
	table->count = min_u64(guard->pages.count, SURVIVAL_RANGES);
	for (uint64_t i = 0; i < table->count; i++)
		table->range[i] = (struct survival_range){
			guard->pages.range[i].start,
			guard->pages.range[i].end,
			guard->pages.range[i].tag,
		};
	survival_publish(guard->survival);
}

static int drop(struct guard *guard, struct injection *injection,
		uint64_t start, uint64_t end)
{
	int r = guard_open(guard, injection, start, end);

	r = first_error(r, note_dropped(guard, start, end));
	return first_error(r, ranges_remove(&guard->pages, start, end));
}

int guard_drop(struct guard *guard, struct injection *injection, uint64_t start,
	       uint64_t end)
{
	int r = drop(guard, injection, start, end);

	guard_publish(guard);
	return r;
}

/* The parts of @page (a range of ours) that are open, to be closed. */
static int add_open_parts(const struct guard *guard, struct batch *batch,
			  struct range page)
{
	int r = 0;

	if (guard_closed_prot(guard, (int)page.tag) == (int)page.tag)
		return 0; /* nothing to take away */
	while (r == 0 && page.start < page.end) {
		const struct range *closed =
			ranges_overlap(&guard->closed, page.start, page.end);
		uint64_t stop = closed ? closed->start : page.end;

		if (page.start < stop)
			r = batch_add(batch, page.start, stop,
				      guard_closed_prot(guard, (int)page.tag));
		page.start = closed ? closed->end : page.end;
	}
	return r;
}

/*
 * The rights of a range that was refused: the first of its mappings may have
 * been closed all the same.
 */
static int refuse_closed(struct guard *guard, struct injection *injection,
			 const struct protect *p)
{
	int r = give_rights(injection, p->start, p->end,
			    guard_prot(guard, p->start));

	if (r == -ESRCH || r == -ENOMEM)
		return r;
	return ranges_remove(&guard->closed, p->start, p->end);
}

/*
 * Noted as closed before they are: of calls that a dying thread made nobody
 * tells how far they came.  The caller takes out what has a result.
 */
static int close_all(struct guard *guard, struct injection *injection,
		     struct batch *batch)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		const struct protect *p = &batch->list[i];

		r = ranges_add(&guard->closed, p->start, p->end,
			       (uint64_t)guard_prot(guard, p->start));
	}
	return r < 0 ? r
		     : inject_protect_all(injection, batch->list, batch->count);
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
		r = close_all(guard, injection, &batch);
	for (size_t i = 0; r == 0 && i < batch.count; i++) {
		const struct protect *p = &batch.list[i];

		if (p->result == 0)
			continue;
		guard->refused++;
		r = refuse_closed(guard, injection, p);
		if (r == 0)
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
		r = drop(guard, injection, extra.range[i].start,
			 extra.range[i].end);
	ranges_done(&extra);
	return r;
}

/* What is ours and open was opened because it was seen. */
static int note_seen(struct guard *guard)
{
	struct ranges open = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < guard->pages.count; i++)
		r = ranges_add(&open, guard->pages.range[i].start,
			       guard->pages.range[i].end, 0);
	for (size_t i = 0; r == 0 && i < guard->closed.count; i++)
		r = ranges_remove(&open, guard->closed.range[i].start,
				  guard->closed.range[i].end);
	for (size_t i = 0; r == 0 && i < open.count; i++)
		r = ranges_add(&guard->seen, open.range[i].start,
			       open.range[i].end, 0);
	ranges_done(&open);
	return r;
}

/* Make it ours, and close what was not seen before. */
static int add_wanted(struct guard *guard, struct batch *batch,
		      struct range range)
{
	int r = ranges_add(&guard->pages, range.start, range.end, range.tag);

	while (r == 0 && range.start < range.end) {
		const struct range *seen =
			ranges_overlap(&guard->seen, range.start, range.end);
		struct range fresh = range;

		fresh.end =
			seen ? max_u64(seen->start, range.start) : range.end;
		range.start = seen ? min_u64(seen->end, range.end) : range.end;
		r = add_open_parts(guard, batch, fresh);
	}
	return r;
}

int guard_arm(struct guard *guard, struct injection *injection,
	      const struct ranges *wanted,
	      void (*refused)(void *context, uint64_t start, uint64_t end,
			      int number),
	      void *context)
{
	_cleanup_(batch_done) struct batch batch = { 0 };
	int r = guard->once ? note_seen(guard) : 0;

	if (r == 0)
		r = drop_unwanted(guard, injection, wanted);
	for (size_t i = 0; r == 0 && i < wanted->count; i++) {
		struct range range = wanted->range[i];

		r = add_wanted(guard, &batch, range);
	}
	guard_publish(guard);
	if (r == 0)
		r = close_all(guard, injection, &batch);
	for (size_t i = 0; r == 0 && i < batch.count; i++) {
		const struct protect *p = &batch.list[i];

		if (p->result == 0)
			continue;
		refused(context, p->start, p->end, p->result);
		r = refuse_closed(guard, injection, p);
		if (r == 0)
			r = guard_drop(guard, injection, p->start, p->end);
	}
	return r;
}
