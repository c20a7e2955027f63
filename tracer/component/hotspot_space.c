/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/hotspot.h"

enum {
	MAX_THREADS = 4096,
	MAX_REGIONS = 1 << 16, /* that one object takes */
	EDEN_AND_SURVIVORS = 3,
	SPACES = 4,
};

/* Offsets of a space's three words, and whether it lies there. */
static bool bounds(struct hotspot *hotspot, uint64_t space,
		   const int64_t offset[3], uint64_t addr,
		   struct hotspot_space *ret)
{
	uint64_t *word[3] = { &ret->start, &ret->end, &ret->top };

	for (int i = 0; i < 3; i++)
		if (offset[i] < 0 ||
		    !hotspot_word(hotspot, space + offset[i], word[i]))
			return false;
	return addr >= ret->start && addr < ret->end && ret->top <= ret->end &&
	       ret->top >= ret->start;
}

static bool generations(struct hotspot *hotspot, uint64_t young, uint64_t old,
			const int64_t space[SPACES], const int64_t offset[3],
			uint64_t addr, struct hotspot_space *ret)
{
	for (int i = 0; i < SPACES; i++) {
		uint64_t at = i < EDEN_AND_SURVIVORS ? young : old;

		if (space[i] < 0 || !hotspot_word(hotspot, at + space[i], &at))
			return false;
		if (bounds(hotspot, at, offset, addr, ret)) {
			ret->young = i == 0;
			return true;
		}
	}
	return false;
}

static bool serial(struct hotspot *hotspot, uint64_t addr,
		   struct hotspot_space *ret)
{
	const struct hotspot_layout *at = &hotspot->at;
	const int64_t space[SPACES] = { at->serial_eden, at->serial_from,
					at->serial_to, at->serial_tenured };
	const int64_t offset[3] = { at->space_bottom, at->space_end,
				    at->space_top };
	uint64_t young, old;

	return at->serial_young >= 0 && at->serial_old >= 0 &&
	       hotspot_word(hotspot, hotspot->heap + at->serial_young,
			    &young) &&
	       hotspot_word(hotspot, hotspot->heap + at->serial_old, &old) &&
	       generations(hotspot, young, old, space, offset, addr, ret);
}

static bool parallel(struct hotspot *hotspot, uint64_t addr,
		     struct hotspot_space *ret)
{
	const struct hotspot_layout *at = &hotspot->at;
	const int64_t space[SPACES] = { at->parallel_eden, at->parallel_from,
					at->parallel_to, at->parallel_tenured };
	const int64_t offset[3] = { at->mutable_bottom, at->mutable_end,
				    at->mutable_top };
	uint64_t young, old;

	return at->parallel_young >= 0 && at->parallel_old >= 0 &&
	       hotspot_word(hotspot, at->parallel_young, &young) &&
	       hotspot_word(hotspot, at->parallel_old, &old) &&
	       generations(hotspot, young, old, space, offset, addr, ret);
}

/* An object that is larger than a region begins in an earlier one. */
static bool g1(struct hotspot *hotspot, uint64_t addr,
	       struct hotspot_space *ret)
{
	const struct hotspot_layout *at = &hotspot->at;
	const int64_t offset[3] = { at->g1_bottom, at->g1_end, at->g1_top };
	uint64_t index = (addr - hotspot->start) >> hotspot->region_shift;

	for (unsigned i = 0; i < MAX_REGIONS; i++, index--) {
		uint64_t region, start = hotspot->start +
					 (index << hotspot->region_shift);
		uint32_t type;

		if (!hotspot_word(hotspot, hotspot->regions + 8 * index,
				  &region) ||
		    !region ||
		    !hotspot_int(hotspot, region + at->g1_type, &type) ||
		    !type || !bounds(hotspot, region, offset, start, ret) ||
		    ret->start != start)
			return false;
		if (type == at->g1_continues && index)
			continue;
		ret->young = type == 2; /* eden */
		ret->single = type == at->g1_single;
		return type != at->g1_continues;
	}
	return false;
}

bool hotspot_space(struct hotspot *hotspot, uint64_t addr,
		   struct hotspot_space *ret)
{
	*ret = (struct hotspot_space){ 0 };
	if (addr < hotspot->start || addr >= hotspot->end)
		return false;
	switch (hotspot->collector) {
	case COLLECTOR_SERIAL:
		return serial(hotspot, addr, ret);
	case COLLECTOR_PARALLEL:
		return parallel(hotspot, addr, ret);
	case COLLECTOR_G1:
		return g1(hotspot, addr, ret);
	case COLLECTOR_Z:
	case COLLECTOR_SHENANDOAH:
	case COLLECTOR_OTHER:
	default:
		return false;
	}
}

static void read_piece(struct hotspot *hotspot, uint64_t thread,
		       uint64_t reserve)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t buffer = thread + at->thread_piece, start, top, end;
	uint64_t mask = hotspot->alignment - 1;

	if (hotspot->pieces == HOTSPOT_PIECES ||
	    !hotspot_word(hotspot, buffer + at->piece_start, &start) ||
	    !hotspot_word(hotspot, buffer + at->piece_top, &top) ||
	    !hotspot_word(hotspot, buffer + at->piece_end, &end) ||
	    start < hotspot->start || top < start || end < top ||
	    end > hotspot->end)
		return;
	hotspot->piece[hotspot->pieces].start = start;
	hotspot->piece[hotspot->pieces].top = top;
	hotspot->piece[hotspot->pieces++].end =
		(end + reserve * 8 + mask) & ~mask;
}

/* Room at the end, for a filler, is no part of what a thread may use. */
static void read_pieces(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint32_t reserve = 0, count = 0;
	uint64_t list, threads, thread;

	if (hotspot->pieces_epoch == hotspot->epoch)
		return;
	hotspot->pieces_epoch = hotspot->epoch;
	hotspot->pieces = 0;
	if (at->threads < 0 || at->threads_length < 0 ||
	    at->threads_array < 0 || at->thread_piece < 0 ||
	    at->piece_start < 0 || at->piece_top < 0 || at->piece_end < 0 ||
	    !hotspot_word(hotspot, at->threads, &list) || !list ||
	    !hotspot_int(hotspot, list + at->threads_length, &count) ||
	    !hotspot_word(hotspot, list + at->threads_array, &threads))
		return;
	if (at->piece_reserve >= 0 &&
	    !hotspot_int(hotspot, at->piece_reserve, &reserve))
		return;
	reserve = (uint32_t)max_u64(reserve & 0xfff, 2);
	for (uint32_t i = 0; i < min_u64(count, MAX_THREADS); i++)
		if (hotspot_word(hotspot, threads + 8 * i, &thread))
			read_piece(hotspot, thread, reserve);
}

uint64_t hotspot_piece(struct hotspot *hotspot, uint64_t addr)
{
	read_pieces(hotspot);
	for (unsigned i = 0; i < hotspot->pieces; i++)
		if (addr >= hotspot->piece[i].top &&
		    addr < hotspot->piece[i].end)
			return hotspot->piece[i].end;
	return 0;
}

uint64_t hotspot_piece_start(struct hotspot *hotspot, uint64_t addr)
{
	read_pieces(hotspot);
	for (unsigned i = 0; i < hotspot->pieces; i++)
		if (addr >= hotspot->piece[i].start &&
		    addr < hotspot->piece[i].top)
			return hotspot->piece[i].start;
	return 0;
}

bool hotspot_is_newest(struct hotspot *hotspot, uint64_t addr)
{
	read_pieces(hotspot);
	for (unsigned i = 0; i < hotspot->pieces; i++)
		if (addr == hotspot->piece[i].top)
			return true;
	return false;
}
