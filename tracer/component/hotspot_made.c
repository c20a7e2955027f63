/* SPDX-License-Identifier: Apache-2.0 */
/* Objects whose header does not tell their class yet. */
#include <string.h>

#include "tracer/component/hotspot.h"

enum {
	MARK_UNLOCKED = 1,

	/* Of machine code. */
	LOCK_PREFIX = 0xf0,
	REX_W = 0x48,
	STORE = 0x89,
	BY_INDEX = 4, /* in ModRM: an SIB byte follows */
	SCALE_8 = 3,
};

bool hotspot_is_zero(struct hotspot *hotspot, const struct query *query)
{
	uint64_t word = 0;

	return query->size <= sizeof(word) &&
	       pages_read(hotspot->pages, query->addr, &word, query->size) ==
		       0 &&
	       !word;
}

/*
 * The mark word of a new object, which comes before its class, is stored
 * plainly; who unlocks an object, to the same value, does it atomically.
 */
static bool makes_mark(struct hotspot *hotspot, const struct query *query,
		       uint64_t start)
{
	uint8_t code = LOCK_PREFIX;

	return query->addr == start && query->size == 8 &&
	       pages_read(hotspot->pages, query->ip, &code, 1) == 0 &&
	       code != LOCK_PREFIX;
}

/*
 * The interpreter fills a new object with zeros before it writes its header,
 * and the gap in the header before the class.  By mov [reg + reg*8 + d8], reg,
 * which else it does to elements only, and mov [reg + 12], reg, by no register
 * for the field.
 */
static bool makes_fields(struct hotspot *hotspot, const struct query *query)
{
	uint8_t code[5];

	if (query->ip < hotspot->interpreter ||
	    query->ip >= hotspot->interpreter_end ||
	    pages_read(hotspot->pages, query->ip, code, sizeof(code)) < 0)
		return false;
	if (query->size == 8)
		return (code[0] & 0xf8) == REX_W && code[1] == STORE &&
		       (code[2] & 7) == BY_INDEX && code[3] >> 6 == SCALE_8;
	return query->size == 4 && code[0] == STORE && code[2] == 12 &&
	       code[1] >> 6 == 1 && (code[1] & 7) != BY_INDEX;
}

bool hotspot_is_made(struct hotspot *hotspot, const struct query *query,
		     const struct klass *klass, uint64_t start)
{
	uint64_t mark;

	if (!query->write || hotspot->collecting || hotspot->compact)
		return false;
	if (query->addr - start < 8)
		return hotspot_word(hotspot, start, &mark) &&
		       mark == MARK_UNLOCKED &&
		       makes_mark(hotspot, query, start);
	return klass->layout > 0 && hotspot_is_zero(hotspot, query) &&
	       makes_fields(hotspot, query);
}

void hotspot_describe_made(const struct query *query, uint64_t start,
			   struct component *ret)
{
	ret->kind = "block";
	ret->runtime = "hotspot";
	ret->how = "allocation";
	ret->confidence = CONFIDENCE_EXACT;
	ret->start = start;
	component_name(ret, "new Java object");
}

static bool is_copy(struct hotspot *hotspot, uint64_t from, uint64_t to,
		    uint64_t offset)
{
	uint64_t word[2];

	return hotspot_word(hotspot, from + offset, &word[0]) &&
	       hotspot_word(hotspot, to + offset, &word[1]) &&
	       word[0] == word[1];
}

bool hotspot_by_copy(struct hotspot *hotspot, const struct query *query,
		     struct component *ret)
{
	uint64_t start = query->candidates[0], offset = query->addr - start;

	if (!query->write || !hotspot->collecting || !query->registers ||
	    !query->ncandidates || start % hotspot->alignment || offset % 8)
		return false;
	for (int i = 0; i < 16; i++) {
		uint64_t from = query->registers[i], size;
		struct klass *klass;

		if (from == start || !hotspot_in_heap(hotspot, from))
			continue;
		klass = hotspot_object(hotspot, from, &size);
		if (!klass || offset >= size ||
		    !is_copy(hotspot, from, start, offset))
			continue;
		hotspot_describe(hotspot, klass, start, size, query->addr, ret);
		ret->how = "copy";
		ret->confidence = CONFIDENCE_LIKELY;
		return true;
	}
	return false;
}

bool hotspot_by_piece(struct hotspot *hotspot, const struct query *query,
		      struct component *ret)
{
	uint64_t start = query->candidates[0];
	bool before = start <= query->addr;

	if (!query->write || !query->ncandidates ||
	    !hotspot_piece_start(hotspot, query->addr))
		return false;
	hotspot_describe_made(query,
			      before && hotspot_piece_start(hotspot, start)
				      ? start
				      : query->addr,
			      ret);
	ret->confidence = CONFIDENCE_LIKELY;
	return true;
}
