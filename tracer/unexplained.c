/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/event/record.h"
#include "tracer/family.h"
#include "tracer/process/mem.h"
#include "tracer/session.h"

void shadow_done(struct shadow *shadow)
{
	ranges_done(&shadow->ranges);
	free(shadow->bytes);
	free(shadow->known);
	free(shadow->views);
	*shadow = (struct shadow){ 0 };
}

/* A part of a range that is kept. */
struct part {
	uint64_t start, size;
	uint8_t *bytes, *known;
};

static bool next_part(struct shadow *shadow, uint64_t *at, uint64_t end,
		      struct part *ret)
{
	const struct range *r =
		*at < end ? ranges_overlap(&shadow->ranges, *at, end) : NULL;

	if (!r)
		return false;
	ret->start = max_u64(*at, r->start);
	*at = min_u64(end, r->end);
	ret->size = *at - ret->start;
	ret->bytes = shadow->bytes + r->tag + (ret->start - r->start);
	ret->known = shadow->known + r->tag + (ret->start - r->start);
	return true;
}

static void report_run(struct session *session, uint64_t addr, uint64_t size,
		       const uint8_t *old, const uint8_t *new)
{
	struct timespec time = report_time();

	session->counts.unexplained++;
	record_unexplained(&session->log->buffer, session->process->pid, addr,
			   size, old, new, &time);
	log_line(session->log);
}

/* What lies there is @now. */
static void compare(struct session *session, const struct part *part,
		    const uint8_t *now)
{
	uint64_t at = 0, first;

	if (memcmp(part->bytes, now, part->size) == 0)
		return;
	while (at < part->size) {
		first = at;
		while (at < part->size && part->known[at] &&
		       part->bytes[at] != now[at])
			at++;
		if (at > first)
			report_run(session, part->start + first, at - first,
				   part->bytes + first, now + first);
		else
			at++;
	}
	memcpy(part->bytes, now, part->size);
}

/* Zeros as long as nobody writes. */
static bool is_untouched(const struct session *session, uint64_t start,
			 uint64_t end)
{
	const struct mapping *m = maps_find(session->process->maps, start);

	return m && !m->shared && !m->inode && end <= m->end &&
	       mem_is_missing(process_pagemap(session->process), start, end);
}

/* What lies there; to read what is missing would make the kernel fill it. */
static bool look(const struct session *session, uint64_t start, uint64_t end,
		 uint8_t *ret)
{
	uint64_t next;

	for (uint64_t at = start; at < end; at = next) {
		uint8_t *to = ret + (at - start);

		next = min_u64(end, page_down(at) + PAGE);
		if (is_untouched(session, at, next))
			memset(to, 0, next - at);
		else if (mem_read(session->process->mem, at, to, next - at) < 0)
			return false;
	}
	return true;
}

void shadow_check(struct session *session, uint64_t start, uint64_t end)
{
	struct part part;

	while (next_part(&session->shadow, &start, end, &part)) {
		_cleanup_(freep) uint8_t *now = NULL;

		if (!memchr(part.known, 1, part.size))
			continue;
		now = malloc(part.size);
		if (now &&
		    look(session, part.start, part.start + part.size, now))
			compare(session, &part, now);
	}
}

/* @bytes are written at @start of one view; NULL: something may be. */
static void put(struct session *session, const struct shadow_view *view,
		uint64_t start, uint64_t end, const uint8_t *bytes)
{
	uint64_t at = start;
	struct part part;

	while (next_part(&session->shadow, &at, end, &part)) {
		/* A private page may be a copy by now. */
		if (bytes && view->shared)
			memcpy(part.bytes, bytes + (part.start - start),
			       part.size);
		else
			memset(part.known, 0, part.size);
	}
}

/* The same in all other views of the file's bytes from @first to @last. */
static void put_elsewhere(struct session *session,
			  const struct shadow_view *from, uint64_t first,
			  uint64_t last, const uint8_t *bytes)
{
	struct session *other = session->family->sessions;

	for (; other; other = other->next) {
		for (size_t i = 0; i < other->shadow.nviews; i++) {
			const struct shadow_view *v = &other->shadow.views[i];
			uint64_t low = max_u64(first, v->offset);
			uint64_t high =
				min_u64(last, v->offset + (v->end - v->start));

			if (v != from && low < high &&
			    v->device == from->device &&
			    v->inode == from->inode)
				put(other, v, v->start + (low - v->offset),
				    v->start + (high - v->offset),
				    bytes ? bytes + (low - first) : NULL);
		}
	}
}

static void mirror(struct session *session, uint64_t start, uint64_t end,
		   const uint8_t *bytes)
{
	const struct shadow *shadow = &session->shadow;

	for (size_t i = 0; i < shadow->nviews; i++) {
		const struct shadow_view *v = &shadow->views[i];
		uint64_t low = max_u64(start, v->start);
		uint64_t high = min_u64(end, v->end);

		if (v->shared && low < high)
			put_elsewhere(session, v, v->offset + (low - v->start),
				      v->offset + (high - v->start),
				      bytes ? bytes + (low - start) : NULL);
	}
}

void shadow_forget(struct session *session, uint64_t start, uint64_t end)
{
	uint64_t at = start;
	struct part part;

	while (next_part(&session->shadow, &at, end, &part))
		memset(part.known, 0, part.size);
	mirror(session, start, end, NULL);
}

void shadow_access(struct session *session, const struct effect *effect,
		   bool by_kernel)
{
	const struct access *access = &effect->access;
	uint64_t start = access->addr, at = start, end = start + access->size;
	bool writes = access->op & ACCESS_WRITE;
	struct part part;

	if (!session->shadow.ranges.count)
		return;
	/* Only the beginning is shown, or elements that are apart; or the
	 * record came later than the write. */
	if (by_kernel || access->count > 1 || effect->shown != access->size) {
		if (writes)
			shadow_forget(session, start,
				      start + max_u64(access->size, 1));
		return;
	}
	while (next_part(&session->shadow, &at, end, &part)) {
		uint64_t offset = part.start - start;

		compare(session, &part, effect->old + offset);
		if (writes)
			memcpy(part.bytes, effect->new + offset, part.size);
		memset(part.known, 1, part.size);
	}
	if (writes)
		mirror(session, start, end, effect->new);
}

/* The watched bytes that are closed; more than are kept: none. */
static int collect(struct session *session, struct ranges *ret, uint64_t *total)
{
	const struct ranges *closed = &session->guard.closed;
	const struct range *w;
	int r = 0;

	for (size_t i = 0; r == 0 && i < closed->count; i++) {
		uint64_t at = closed->range[i].start;
		uint64_t end = closed->range[i].end;

		while (r == 0 && at < end &&
		       (w = ranges_overlap(&session->watch.bytes, at, end))) {
			uint64_t low = max_u64(at, w->start);

			at = min_u64(end, w->end);
			r = ranges_add(ret, low, at, *total);
			*total += at - low;
			if (*total > SHADOW_MOST) {
				ranges_clear(ret);
				*total = 0;
				return r;
			}
		}
	}
	return r;
}

/* Of all that is guarded: what is written may be watched in another view. */
static int find_views(const struct session *session, struct shadow *shadow)
{
	const struct ranges *pages = &session->guard.pages;
	const struct maps *maps = session->process->maps;
	const struct mapping *m, *stop = maps->mapping + maps->count;

	for (size_t i = 0; i < pages->count; i++) {
		const struct range *page = &pages->range[i];

		m = maps_above(maps, page->start);
		for (; m && m < stop && m->start < page->end; m++) {
			uint64_t start = max_u64(m->start, page->start);
			struct shadow_view *view;

			if (!m->inode)
				continue;
			view = reallocarray(shadow->views, shadow->nviews + 1,
					    sizeof(*view));
			if (!view)
				return -ENOMEM;
			shadow->views = view;
			view[shadow->nviews++] = (struct shadow_view){
				.start = start,
				.end = min_u64(m->end, page->end),
				.device = m->device,
				.inode = m->inode,
				.offset = m->offset + (start - m->start),
				.shared = m->shared,
			};
		}
	}
	return 0;
}

int shadow_take(struct session *session)
{
	struct shadow *shadow = &session->shadow;
	uint64_t total = 0;
	struct range *r;
	int result;

	shadow_check(session, 0, UINT64_MAX);
	shadow_done(shadow);
	if (session->policy != POLICY_EVERY)
		return 0;
	result = collect(session, &shadow->ranges, &total);
	shadow->bytes = calloc(total + 1, 1);
	shadow->known = calloc(total + 1, 1);
	if (result == 0 && shadow->ranges.count)
		result = find_views(session, shadow);
	if (result < 0 || !shadow->bytes || !shadow->known) {
		shadow_done(shadow);
		return -ENOMEM;
	}
	for (size_t i = 0; i < shadow->ranges.count; i++) {
		r = &shadow->ranges.range[i];
		if (look(session, r->start, r->end, shadow->bytes + r->tag))
			memset(shadow->known + r->tag, 1, r->end - r->start);
	}
	return 0;
}

static void on_opening(void *context, uint64_t start, uint64_t end)
{
	shadow_check(context, start, end);
	shadow_forget(context, start, end);
}

void shadow_follow(struct session *session)
{
	session->guard.opening = on_opening;
	session->guard.context = session;
}
