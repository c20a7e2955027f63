/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/compared.h"
#include "tracer/process/mem.h"

static bool is_private(struct session *session, uint64_t start, uint64_t end)
{
	const struct mapping *m;

	for (; start < end; start = m->end) {
		m = maps_find(session->process->maps, start);
		if (!m || m->shared)
			return false;
	}
	return true;
}

/* The watched bytes of @opened; 0 of them: not to be compared. */
static uint64_t collect(struct session *session, const struct ranges *opened,
			struct ranges *ret)
{
	const struct ranges *watched = &session->watch.bytes;
	const struct range *w;
	uint64_t total = 0;

	for (size_t i = 0; i < opened->count; i++) {
		uint64_t at = opened->range[i].start;
		uint64_t end = opened->range[i].end;

		while (at < end && (w = ranges_overlap(watched, at, end))) {
			uint64_t low = max_u64(at, w->start);

			at = min_u64(end, w->end);
			total += at - low;
			if (total > COMPARED_MOST ||
			    !is_private(session, low, at) ||
			    ranges_add(ret, low, at, 0) < 0)
				return 0;
		}
	}
	return total;
}

/* Their bytes as they are now, into @bytes. */
static bool look(struct session *session, const struct ranges *ranges,
		 uint8_t *bytes)
{
	for (size_t i = 0; i < ranges->count; i++) {
		const struct range *r = &ranges->range[i];

		if (mem_read(session->process->mem, r->start, bytes,
			     r->end - r->start) < 0)
			return false;
		bytes += r->end - r->start;
	}
	return true;
}

struct compared *compared_begin(struct session *session,
				const struct ranges *opened)
{
	struct compared *compared;
	uint64_t size;

	/* Another call that has pages open may write as well. */
	if (session->pins || session_refresh(session) < 0)
		return NULL;
	compared = calloc(1, sizeof(*compared));
	if (!compared)
		return NULL;
	size = collect(session, opened, &compared->ranges);
	compared->bytes = size ? malloc(size) : NULL;
	if (compared->bytes &&
	    look(session, &compared->ranges, compared->bytes))
		return compared;
	compared_free(compared);
	return NULL;
}

void compared_free(struct compared *compared)
{
	if (!compared)
		return;
	ranges_done(&compared->ranges);
	free(compared->bytes);
	free(compared);
}

/* What is told of a buffer that we know must not be told again. */
static void take_known(const struct inflight *inflight, int64_t result,
		       const struct range *r, uint8_t *old, const uint8_t *new)
{
	const struct call_plan *plan = &inflight->plan;

	for (unsigned i = 0; i < plan->count; i++) {
		const struct buffer_use *buffer = &plan->buffer[i];
		uint64_t size = call_written(plan, i, result);
		uint64_t low = max_u64(buffer->addr, r->start);
		uint64_t high = min_u64(buffer->addr + size, r->end);

		if (buffer->direction & BUFFER_OUT && low < high)
			memcpy(old + (low - r->start), new + (low - r->start),
			       high - low);
	}
}

static void report_run(struct session *session, struct thread *thread,
		       uint64_t addr, const uint8_t *old, const uint8_t *new,
		       uint64_t size)
{
	int number = thread->call->call.number;
	struct bounce_use use = {
		.addr = addr,
		.size = size,
		.direction = BUFFER_OUT,
		.shown = (uint32_t)min_u64(size, EFFECT_SHOWN),
	};
	char name[32];

	snprintf(name, sizeof(name), number < 0 ? "int 0x80" : "syscall_%d",
		 number);
	memcpy(use.old, old, use.shown);
	memcpy(use.new, new, use.shown);
	call_report_as(session, thread,
		       syscall_name(number) ? syscall_name(number) : name,
		       "compared", &use);
}

static void report_range(struct session *session, struct thread *thread,
			 const struct range *r, const uint8_t *old,
			 const uint8_t *new)
{
	uint64_t size = r->end - r->start, at = 0, first;

	while (at < size) {
		if (old[at] == new[at]) {
			at++;
			continue;
		}
		first = at;
		while (at < size && old[at] != new[at])
			at++;
		report_run(session, thread, r->start + first, old + first,
			   new + first, at - first);
	}
}

void compared_report(struct session *session, struct thread *thread,
		     struct compared *compared, int64_t result)
{
	const struct ranges *ranges = &compared->ranges;
	uint8_t *old = compared->bytes;

	/* Others ran while it slept, and may have written. */
	if (thread->call->pinned && session->process->threads.count > 1)
		return;
	for (size_t i = 0; i < ranges->count; i++) {
		const struct range *r = &ranges->range[i];
		uint64_t size = r->end - r->start;
		_cleanup_(freep) uint8_t *new = malloc(size);

		if (new &&mem_read(session->process->mem, r->start, new,
				   size) == 0) {
			take_known(thread->call, result, r, old, new);
			report_range(session, thread, r, old, new);
		}
		old += size;
	}
}
