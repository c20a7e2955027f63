/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/guard/layout.h"

enum {
	GAP = 64,     /* untouched bytes around each span */
	ALIGN = 64,   /* a cache line: no type needs more */
	SECTOR = 512, /* direct I/O transfers no less */
	SECTOR_ALIGN = 4096,
};

_Static_assert(CALL_BUFFERS <= 64, "a set of buffers is a uint64_t");

static bool overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
	return a < b + b_size && b < a + a_size;
}

/* Does moving @set ask for moving @i?  It holds a pointer, or shares bytes. */
static bool drawn_in(const struct call_plan *plan, uint64_t set, unsigned i)
{
	const struct buffer_use *use = &plan->buffer[i];
	unsigned k;

	for (k = 0; k < plan->count; k++) {
		const struct buffer_use *other = &plan->buffer[k];

		if (!(set & layout_bit(k)))
			continue;
		if (other->parent == (int)i ||
		    overlap(use->addr, use->size, other->addr, other->size))
			return true;
	}

	return false;
}

/* The buffers to move, as a set of bits. */
uint64_t layout_choose(const struct call_plan *plan,
		       bool (*guarded)(void *, uint64_t, uint64_t),
		       void *context)
{
	uint64_t set = 0, last;
	unsigned i;

	for (i = 0; i < plan->count; i++) {
		if (guarded(context, plan->buffer[i].addr,
			    plan->buffer[i].size))
			set |= layout_bit(i);
	}

	/* Each turn but the last adds one at least. */
	do {
		last = set;
		for (i = 0; i < plan->count; i++) {
			if (!(set & layout_bit(i)) && drawn_in(plan, set, i))
				set |= layout_bit(i);
		}
	} while (set != last);

	return set;
}

/* Add one buffer; spans that it touches become one. */
static unsigned span_add(struct bounce_span *spans, unsigned count,
			 uint64_t addr, uint64_t size)
{
	unsigned i = 0;

	while (i < count) {
		uint64_t end = addr + size;

		if (!overlap(addr, size, spans[i].addr, spans[i].size)) {
			i++;
			continue;
		}
		end = max_u64(end, spans[i].addr + spans[i].size);
		addr = min_u64(addr, spans[i].addr);
		size = end - addr;
		/* It has grown: those that it missed may touch it now. */
		spans[i] = spans[--count];
		i = 0;
	}
	spans[count] = (struct bounce_span){ .addr = addr, .size = size };

	return count + 1;
}

unsigned layout_spans(const struct call_plan *plan, uint64_t set,
		      struct bounce_span *spans)
{
	unsigned i, count = 0;

	for (i = 0; i < plan->count; i++) {
		if (set & layout_bit(i))
			count = span_add(spans, count, plan->buffer[i].addr,
					 plan->buffer[i].size);
	}

	return count;
}

static uint64_t span_align(const struct bounce_span *span)
{
	return span->size < SECTOR ? ALIGN : SECTOR_ALIGN;
}

uint64_t bounce_room(const struct call_plan *plan,
		     bool (*guarded)(void *, uint64_t, uint64_t), void *context)
{
	struct bounce_span spans[CALL_BUFFERS];
	uint64_t set = layout_choose(plan, guarded, context), size = GAP;
	unsigned i, count = layout_spans(plan, set, spans);

	/* The room's own alignment is not known yet: the worst case. */
	for (i = 0; i < count; i++)
		size += span_align(&spans[i]) - 1 + spans[i].size + GAP;

	return count ? size : 0;
}

void layout_place(struct bounce *bounce, uint64_t room)
{
	uint64_t at = room + GAP;
	unsigned i;

	for (i = 0; i < bounce->spans; i++) {
		struct bounce_span *span = &bounce->span[i];

		at += (span->addr - at) & (span_align(span) - 1);
		span->room = at;
		at += span->size + GAP;
	}
}
