/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "unwinder/slots.h"

enum {
	/* A stack that grew by more is read as another one. */
	REACH = 1 << 16,
	LINKS_MIN = 32,
};

int slots_new(struct slots **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void slots_free(struct slots *slots)
{
	if (slots)
		slots_clear(slots);
	free(slots);
}

void slots_clear(struct slots *slots)
{
	free(slots->link);
	free(slots->frame);
	free(slots->slot);
	*slots = (struct slots){ 0 };
}

/* The range that a stack with this sp goes on in, or -1. */
static int range_of(const struct slots *slots, uint64_t sp)
{
	for (int i = (int)slots->ranges - 1; i >= 0; i--) {
		const struct slots_range *range = &slots->range[i];

		if (sp < range->end && sp + REACH >= range->start)
			return i;
	}
	return -1;
}

/*
 * A range whose stack is left needs no read: nothing in it can be met.  What
 * cannot be read has changed.
 */
static int read_ranges(struct slots *slots, struct bulk *bulk,
		       const struct memory *memory, uint64_t sp)
{
	int first = range_of(slots, sp), r;
	int last = first < 0 ? (int)slots->ranges - 1 : first;

	for (int i = last; i >= 0; i--) {
		struct slots_range range = slots->range[i];

		if (i == first)
			range.start = (sp - RED_ZONE) & ~UINT64_C(7);
		r = bulk_add(bulk, memory, range.start, range.end);
		if (r < 0 && r != -EFAULT && r != -E2BIG)
			return r;
	}
	return 0;
}

/* Not 0 if @slot lies outside of @part, or is not what it was. */
static inline uint64_t differs(const struct slot *slot,
			       const struct bulk_part *part, const char *bytes)
{
	uint64_t at = slot->addr - part->start, value;
	uint64_t outside = at / 8 >= part->words;

	memcpy(&value, bytes + (outside ? 0 : at), sizeof(value));
	return (value ^ slot->value) | outside;
}

/*
 * The first slot of [@i, @end), of one range, that is not what it was.  Four
 * at a time, without branches between: this is all that an old frame costs.
 */
static size_t skip_same(const struct slots *slots, const struct bulk *bulk,
			size_t i, size_t end)
{
	const struct bulk_part *part = bulk_part(bulk, slots->slot[i].addr);
	const char *bytes;

	if (!part)
		return i;
	bytes = bulk->bytes + part->at;
	for (; i + 4 <= end; i += 4) {
		const struct slot *slot = &slots->slot[i];

		if (differs(slot, part, bytes) |
		    differs(slot + 1, part, bytes) |
		    differs(slot + 2, part, bytes) |
		    differs(slot + 3, part, bytes))
			break;
	}
	while (i < end && !differs(&slots->slot[i], part, bytes))
		i++;
	return i;
}

/* How many slots are what they were. */
static size_t same_slots(const struct slots *slots, const struct bulk *bulk)
{
	size_t i = 0;

	for (unsigned r = 0; r < slots->ranges; r++) {
		size_t end = r + 1 < slots->ranges ? slots->range[r + 1].first
						   : slots->count;

		i = skip_same(slots, bulk, i, end);
		if (i < end)
			return i;
	}
	return i;
}

int slots_compare(struct slots *slots, struct bulk *bulk,
		  const struct memory *memory, uint64_t sp, size_t *unchanged)
{
	size_t low = 0, high = slots->reusable, same;
	int r;

	*unchanged = 0;
	bulk_clear(bulk);
	if (!slots->links)
		return 0;
	r = read_ranges(slots, bulk, memory, sp);
	if (r < 0)
		return r;
	same = same_slots(slots, bulk);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct link *link = &slots->link[middle];

		if (link->slot + link->slots <= same)
			low = middle + 1;
		else
			high = middle;
	}
	*unchanged = low;
	return 0;
}

static bool is_same(const struct link *link, const struct state *state,
		    unsigned need)
{
	if (link->state.ip != state->ip ||
	    link->state.is_return != state->is_return ||
	    link->state.reg[STATE_SP] != state->reg[STATE_SP])
		return false;
	for (; need; need &= need - 1) {
		unsigned i = (unsigned)__builtin_ctz(need);

		if (link->state.reg[i] != state->reg[i])
			return false;
	}
	return true;
}

ssize_t slots_meet(const struct slots *slots, size_t *unchanged,
		   const struct state *state, bool all)
{
	uint64_t sp = state->reg[STATE_SP];
	const struct link *link = slots->link;
	size_t i = *unchanged;

	if (i && !link[i - 1].changes) {
		/* one stack: what lies below the sp is passed for good */
		while (i && link[i - 1].state.reg[STATE_SP] < sp)
			i--;
		*unchanged = i;
		return i && is_same(&link[i - 1], state,
				    all ? (1U << STATE_SAVED) - 1
					: link[i - 1].need)
			       ? (ssize_t)i - 1
			       : -1;
	}
	while (i--) {
		if (is_same(&link[i], state,
			    all ? (1U << STATE_SAVED) - 1 : link[i].need))
			return (ssize_t)i;
	}
	return -1;
}

static int note_range(struct slots *slots, uint64_t addr)
{
	struct slots_range *last = slots->range + slots->ranges;

	if (slots->ranges && addr + BULK_GAP >= last[-1].start &&
	    addr <= last[-1].end + BULK_GAP) {
		last--;
		last->start = min_u64(last->start, addr);
		last->end = max_u64(last->end, addr + 8);
		return 0;
	}
	if (slots->ranges == SLOTS_RANGES)
		return -E2BIG;
	slots->range[slots->ranges++] = (struct slots_range){
		.start = addr,
		.end = addr + 8,
		.first = (uint32_t)slots->count,
	};
	return 0;
}

static int push(struct slots *slots, const struct fresh *fresh)
{
	struct link *link = &slots->link[slots->links];
	const struct link *caller = slots->links ? link - 1 : NULL;
	unsigned need = caller ? caller->need : 0;

	*link = fresh->link;
	link->slot = (uint32_t)slots->count;
	for (size_t i = 0; i < fresh->reads; i++) {
		unsigned reg = fresh->read[i].reg;
		int r;

		if (reg != READ_ALWAYS && !(need >> reg & 1))
			continue;
		r = note_range(slots, fresh->read[i].addr);
		if (r < 0)
			return r;
		slots->slot[slots->count++] =
			(struct slot){ fresh->read[i].addr,
				       fresh->read[i].value };
	}
	link->slots = (uint32_t)slots->count - link->slot;
	link->need = (uint8_t)(fresh->used | (need & ~fresh->restored));
	link->changes = 0;
	if (caller)
		link->changes =
			caller->changes + (caller->state.reg[STATE_SP] <=
					   link->state.reg[STATE_SP]);
	slots->frame[slots->links] =
		(struct frame){ link->state.ip, link->cfa };
	if (!link->guessed && slots->reusable == slots->links)
		slots->reusable++;
	slots->links++;
	return 0;
}

static void cut(struct slots *slots, size_t links)
{
	slots->links = links;
	slots->count = 0;
	if (links)
		slots->count = slots->link[links - 1].slot +
			       slots->link[links - 1].slots;
	slots->reusable = min_u64(slots->reusable, links);
	while (slots->ranges &&
	       slots->range[slots->ranges - 1].first >= slots->count)
		slots->ranges--;
}

static int make_room(struct slots *slots, size_t count)
{
	size_t links = slots->links + count;
	size_t words = slots->count + count * STEP_READS;

	if (links > slots->links_allocated) {
		size_t want = max_u64(links + links / 2, LINKS_MIN);
		void *p = realloc(slots->link, want * sizeof(*slots->link));

		if (!p)
			return -ENOMEM;
		slots->link = p;
		p = realloc(slots->frame, want * sizeof(*slots->frame));
		if (!p)
			return -ENOMEM;
		slots->frame = p;
		slots->links_allocated = want;
	}
	if (words > slots->allocated) {
		size_t want = words + words / 2;
		void *p = realloc(slots->slot, want * sizeof(*slots->slot));

		if (!p)
			return -ENOMEM;
		slots->slot = p;
		slots->allocated = want;
	}
	return 0;
}

int slots_store(struct slots *slots, size_t links, const struct fresh *fresh,
		size_t count, bool whole)
{
	int r;

	if (!links)
		slots->whole = whole;
	cut(slots, links);
	r = make_room(slots, count);
	for (size_t i = count; r == 0 && i > 0; i--)
		r = push(slots, &fresh[i - 1]);
	if (r < 0)
		cut(slots, 0);
	return r == -E2BIG ? 0 : r;
}
