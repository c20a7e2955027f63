/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/hotspot.h"

enum {
	CARD = 512,	      /* bytes of which one start is remembered */
	STARTS = 1 << 16,     /* cards; of 32 MiB of heap */
	NEAR = 64 * 1024,     /* how far below a walk begins */
	PROOF = 16,	      /* objects in a row are no accident */
	MAX_STEPS = 1 << 14,  /* objects of one walk */
	MAX_SEARCH = 1 << 14, /* places that a search looks at */
};

void hotspot_moved(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint32_t collections = 0;
	uint8_t collecting = 0;

	if (hotspot->moved_epoch == hotspot->epoch)
		return;
	hotspot->moved_epoch = hotspot->epoch;
	if (at->collections < 0 || at->collecting < 0 ||
	    !hotspot_int(hotspot, hotspot->heap + at->collections,
			 &collections) ||
	    pages_read(hotspot->pages, hotspot->heap + at->collecting,
		       &collecting, 1) < 0)
		collecting = 1;
	if (collecting || hotspot->collecting ||
	    collections != hotspot->collections)
		hotspot->moves++;
	hotspot->collections = collections;
	hotspot->collecting = collecting;
}

static struct start *start_of(struct hotspot *hotspot, uint64_t card)
{
	return &hotspot->starts[card % STARTS];
}

static bool holds(const struct hotspot *hotspot, const struct start *start,
		  uint64_t card)
{
	return start->card == card && start->moves == hotspot->moves &&
	       (!start->epoch || start->epoch == hotspot->epoch);
}

/* In eden until the next stop only: who took memory may not have used it. */
static void remember(struct hotspot *hotspot, const struct hotspot_space *space,
		     uint64_t addr)
{
	uint64_t card = addr / CARD;
	struct start *start;

	if (!hotspot->starts)
		hotspot->starts = calloc(STARTS, sizeof(*hotspot->starts));
	if (!hotspot->starts)
		return;
	start = start_of(hotspot, card);
	if (holds(hotspot, start, card) && start->addr <= addr)
		return;
	*start = (struct start){ card, addr, hotspot->moves,
				 space->young || hotspot->collecting
					 ? hotspot->epoch
					 : 0 };
}

/* The nearest start that is known, not far below; 0: none. */
static uint64_t remembered(struct hotspot *hotspot,
			   const struct hotspot_space *space, uint64_t addr)
{
	if (!hotspot->starts)
		return 0;
	for (uint64_t i = 0; i < NEAR / CARD; i++) {
		uint64_t card = addr / CARD - i;
		const struct start *start = start_of(hotspot, card);

		if (card < space->start / CARD)
			return 0;
		if (holds(hotspot, start, card) && start->addr <= addr &&
		    start->addr >= space->start)
			return start->addr;
	}
	return 0;
}

static bool is_row(struct hotspot *hotspot, const struct hotspot_space *space,
		   uint64_t addr)
{
	for (int i = 0; i < PROOF && addr < space->top; i++) {
		uint64_t size;

		if (!hotspot_object(hotspot, addr, &size) ||
		    size > space->top - addr)
			return i && hotspot_piece(hotspot, addr);
		addr += size;
	}
	return true;
}

uint64_t hotspot_search(struct hotspot *hotspot,
			const struct hotspot_space *space, uint64_t from,
			uint64_t last)
{
	uint64_t step = hotspot->alignment;

	from = (from + step - 1) & ~(step - 1);
	for (unsigned i = 0; i < MAX_SEARCH && from <= last; i++, from += step)
		if (is_row(hotspot, space, from))
			return from;
	return 0;
}

static uint64_t begin(struct hotspot *hotspot,
		      const struct hotspot_space *space, uint64_t addr)
{
	uint64_t from = remembered(hotspot, space, addr);

	if (!from && space->young)
		from = hotspot_piece_start(hotspot, addr);
	if (from)
		return from;
	if (addr - space->start > NEAR)
		from = hotspot_search(hotspot, space, addr - NEAR, addr);
	return from ? from : space->start;
}

struct klass *hotspot_parse(struct hotspot *hotspot, uint64_t addr,
			    uint64_t *start, uint64_t *size)
{
	struct hotspot_space space;
	struct klass *klass;
	uint64_t at;

	if (!hotspot_space(hotspot, addr, &space) ||
	    (!space.single && addr >= space.top))
		return NULL;
	*start = space.start;
	if (space.single) {
		klass = hotspot_object(hotspot, space.start, size);
		return klass && addr - space.start < *size ? klass : NULL;
	}
	at = begin(hotspot, &space, addr);
	for (unsigned i = 0; i < MAX_STEPS && at <= addr; i++) {
		uint64_t end = space.young ? hotspot_piece(hotspot, at) : 0;

		if (end) {
			at = end;
			continue;
		}
		klass = hotspot_object(hotspot, at, size);
		if (!klass || *size > space.top - at) {
			/* Memory that was taken and not filled yet */
			at = hotspot_search(hotspot, &space,
					    at + hotspot->alignment, addr);
			if (!at)
				return NULL;
			continue;
		}
		remember(hotspot, &space, at);
		*start = at;
		if (addr - at < *size)
			return klass;
		at += *size;
	}
	return NULL;
}
