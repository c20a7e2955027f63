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
	free(slots->offset);
	free(slots->value);
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

/* Not 0 if the slot is not what it was. */
static inline uint64_t differs(const char *origin, int32_t offset,
			       uint64_t before)
{
	uint64_t value;

	memcpy(&value, origin + offset, sizeof(value));
	return value ^ before;
}

/*
 * The first slot of [@i, @end), all of them read, that is not what it was.
 * Eight at a time, without branches between: this is all that an old frame
 * costs.
 */
static size_t skip_same(const struct slots *slots, const char *origin, size_t i,
			size_t end)
{
	const int32_t *offset = slots->offset;
	const uint64_t *value = slots->value;

	for (; i + 8 <= end; i += 8) {
		uint64_t all = 0;

		for (size_t j = i; j < i + 8; j++)
			all |= differs(origin, offset[j], value[j]);
		if (all)
			break;
	}
	while (i < end && !differs(origin, offset[i], value[i]))
		i++;
	return i;
}

static size_t slots_of(const struct slots *slots, size_t links)
{
	const struct link *last;

	if (!links)
		return 0;
	last = &slots->link[links - 1];
	return last->slot + last->slots;
}

/*
 * What was not read, below @start, is left or has changed: the slots of the
 * links, up to slot @end, that come before the first such one.
 */
static size_t slots_above(const struct slots *slots, size_t end, uint64_t start)
{
	size_t links = slots->links;

	while (links && (slots_of(slots, links) > end ||
			 slots->link[links - 1].low < start))
		links--;
	return slots_of(slots, links);
}

/* How many slots are what they were. */
static size_t same_slots(const struct slots *slots, const struct bulk *bulk)
{
	size_t i = 0;

	for (unsigned r = 0; r < slots->ranges; r++) {
		const struct slots_range *range = &slots->range[r];
		size_t end =
			r + 1 < slots->ranges ? range[1].first : slots->count;
		const struct bulk_part *part = bulk_part(bulk, range->end - 8);
		bool cut;

		if (!part)
			return i;
		cut = range->start < part->start;
		if (cut)
			end = max_u64(i, slots_above(slots, end, part->start));
		i = skip_same(slots,
			      bulk->bytes + part->at +
				      (int64_t)(range->origin - part->start),
			      i, end);
		if (i < end || cut)
			return i;
	}
	return i;
}

int slots_compare(struct slots *slots, struct bulk *bulk,
		  const struct memory *memory, uint64_t sp, size_t *unchanged)
{
	size_t links = slots->reusable, same;
	int r;

	*unchanged = 0;
	slots->last = false;
	bulk_clear(bulk);
	if (!slots->links)
		return 0;
	r = read_ranges(slots, bulk, memory, sp);
	if (r < 0)
		return r;
	same = same_slots(slots, bulk);
	while (slots_of(slots, links) > same)
		links--;
	*unchanged = links;
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

bool slots_began(const struct slots *slots, const struct state *state)
{
	const struct link *link;

	/* a guess does not know what it needed */
	if (!slots->last || !slots->links || slots->reusable < slots->links)
		return false;
	link = &slots->link[slots->links - 1];
	return is_same(link, state, link->need);
}

static bool is_inside(const struct slots_range *range, uint64_t addr)
{
	return addr - range->start < range->end - range->start;
}

/* The range that @slot, at @addr, belongs to; NULL: it lies too far. */
static struct slots_range *note_range(struct slots *slots, uint64_t addr,
				      size_t slot)
{
	struct slots_range *last = slots->range + slots->ranges;

	if (slots->ranges && addr + BULK_GAP >= last[-1].start &&
	    addr <= last[-1].end + BULK_GAP) {
		last--;
		last->start = min_u64(last->start, addr);
		last->end = max_u64(last->end, addr + 8);
		return last->end - last->start <= BULK_MAX ? last : NULL;
	}
	if (slots->ranges == SLOTS_RANGES)
		return NULL;
	*last = (struct slots_range){
		.start = addr,
		.end = addr + 8,
		.origin = addr,
		.first = (uint32_t)slot,
	};
	slots->ranges++;
	return last;
}

/* -E2BIG: its slots lie too far from each other. */
static int push(struct slots *slots, const struct fresh *fresh,
		const struct fresh_read *read)
{
	struct link *link = &slots->link[slots->links];
	const struct link *caller = slots->links ? link - 1 : NULL;
	unsigned need = caller ? caller->need : 0;
	size_t count = slots->count;

	*link = fresh->link;
	link->slot = (uint32_t)slots->count;
	link->low = caller ? caller->low : UINT64_MAX;
	read += fresh->read;
	for (const struct fresh_read *end = read + fresh->reads; read < end;
	     read++) {
		const struct slots_range *range = slots->range + slots->ranges;
		size_t wanted = (need | 1U << READ_ALWAYS) >> read->reg & 1;

		if (!slots->ranges || !is_inside(--range, read->addr)) {
			if (!wanted)
				continue;
			range = note_range(slots, read->addr, count);
			if (!range)
				return -E2BIG;
		}
		if (range->first == count)
			link->low = UINT64_MAX; /* the others are of another */
		/* written in any case: without branches it is faster */
		slots->offset[count] = (int32_t)(read->addr - range->origin);
		slots->value[count] = read->value;
		count += wanted;
		link->low = min_u64(link->low, read->addr | (wanted - 1));
	}
	link->slots = (uint32_t)(count - slots->count);
	slots->count = count;
	link->need = (uint8_t)(fresh->used | (need & ~fresh->restored));
	link->changes = 0;
	if (caller)
		link->changes =
			caller->changes + (caller->state.reg[STATE_SP] <=
					   link->state.reg[STATE_SP]);
	slots->frame[slots->links_allocated - 1 - slots->links] =
		(struct frame){ .ip = link->state.ip, .cfa = link->cfa };
	if (caller) /* whoever led to it before */
		slots->frame[slots->links_allocated - slots->links].guessed =
			link->guessed;
	if (!link->guessed && slots->reusable == slots->links)
		slots->reusable++;
	slots->links++;
	return 0;
}

static void cut(struct slots *slots, size_t links)
{
	slots->links = links;
	slots->count = slots_of(slots, links);
	slots->reusable = min_u64(slots->reusable, links);
	while (slots->ranges &&
	       slots->range[slots->ranges - 1].first >= slots->count)
		slots->ranges--;
}

static int make_room(struct slots *slots, size_t count)
{
	size_t links = slots->links + count;
	size_t words = slots->count + count * STEP_READS + 1;

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
		memmove(slots->frame + want - slots->links,
			slots->frame + slots->links_allocated - slots->links,
			slots->links * sizeof(*slots->frame));
		slots->links_allocated = want;
	}
	if (words > slots->allocated) {
		size_t want = words + words / 2;
		void *p = realloc(slots->offset, want * sizeof(*slots->offset));

		if (!p)
			return -ENOMEM;
		slots->offset = p;
		p = realloc(slots->value, want * sizeof(*slots->value));
		if (!p)
			return -ENOMEM;
		slots->value = p;
		slots->allocated = want;
	}
	return 0;
}

int slots_store(struct slots *slots, size_t links, const struct fresh *fresh,
		size_t count, const struct fresh_read *read, bool whole)
{
	int r;

	if (!links)
		slots->whole = whole;
	cut(slots, links);
	r = make_room(slots, count);
	for (size_t i = count; r == 0 && i > 0; i--)
		r = push(slots, &fresh[i - 1], read);
	if (r < 0)
		cut(slots, 0);
	slots->last = r == 0;
	return r == -E2BIG ? 0 : r;
}
