/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/hotspot.h"

enum {
	LOCK = 3, /* the mark word's lowest bits: */
	LOCKED = 0,
	UNLOCKED = 1,
	MOVED = 3,  /* where to, is in the rest */
	BIASED = 4, /* up to 17: the rest is a thread; later a flag */
	CANONICAL_BITS = 47,
	MAX_MIRROR = 1 << 20, /* words */
};

/*
 * Not only the class must be one: bytes of a dead object, in an array that
 * lies there now, look like it.  A mark word holds a hash code or a pointer.
 */
static bool is_mark(const struct hotspot *hotspot, uint64_t mark)
{
	if ((mark & LOCK) == UNLOCKED && !(mark & BIASED))
		return mark >> hotspot->mark_bits == 0;
	if (mark == LOCKED) /* lightweight locking, late in 21's time */
		return hotspot->at.fields_stream >= 0;
	return mark >> CANONICAL_BITS == 0;
}

static struct klass *narrow(struct hotspot *hotspot, uint64_t value)
{
	if (!value)
		return NULL;
	return hotspot_klass(hotspot, hotspot->narrow_base +
					      (value << hotspot->narrow_shift));
}

/* With compact headers the class is in the mark word. */
static struct klass *compact(struct hotspot *hotspot, uint64_t mark)
{
	uint64_t value = mark >> hotspot->at.klass_shift;
	uint64_t copy;

	/* The address of the copy took its place. */
	if (!value && (mark & LOCK) == MOVED &&
	    hotspot_word(hotspot, mark & ~UINT64_C(7), &copy))
		value = copy >> hotspot->at.klass_shift;
	return narrow(hotspot, value);
}

struct klass *hotspot_header(struct hotspot *hotspot, const uint64_t head[3])
{
	if (hotspot->compact)
		return compact(hotspot, head[0]);
	if (!is_mark(hotspot, head[0]))
		return NULL;
	if (hotspot->compressed_classes)
		return narrow(hotspot, (uint32_t)head[1]);
	return hotspot_klass(hotspot, head[1]);
}

static uint64_t align(const struct hotspot *hotspot, uint64_t size)
{
	return (size + hotspot->alignment - 1) &
	       ~(uint64_t)(hotspot->alignment - 1);
}

uint64_t hotspot_size(struct hotspot *hotspot, const struct klass *klass,
		      uint64_t addr, const uint64_t head[3])
{
	uint32_t words, length;

	if (klass->layout < 0) {
		uint64_t header = (klass->layout >> 16) & 0xff;

		memcpy(&length, (const char *)head + hotspot->length,
		       sizeof(length));
		if (length > INT32_MAX)
			return 0;
		return align(hotspot, header + ((uint64_t)length
						<< (klass->layout & 15)));
	}
	if (klass->mirror &&
	    hotspot_int(hotspot, addr + hotspot->mirror_size, &words) &&
	    words > 1 && words < MAX_MIRROR)
		return align(hotspot, words * UINT64_C(8));
	return align(hotspot, (uint64_t)klass->layout & ~UINT64_C(7));
}

struct klass *hotspot_object(struct hotspot *hotspot, uint64_t addr,
			     uint64_t *size)
{
	uint64_t head[3] = { 0 };
	struct klass *klass;

	if (addr % hotspot->alignment ||
	    (!pages_words(hotspot->pages, addr, head, 3) &&
	     !pages_words(hotspot->pages, addr, head, 2)))
		return NULL;
	klass = hotspot_header(hotspot, head);
	if (!klass)
		return NULL;
	*size = hotspot_size(hotspot, klass, addr, head);
	return *size ? klass : NULL;
}

static void describe_header(const struct hotspot *hotspot, uint32_t offset,
			    struct component *ret)
{
	const char *name = "<mark>";

	if (offset >= hotspot->length)
		name = "<length>";
	else if (offset >= 8)
		name = "<klass>";
	snprintf(ret->member, sizeof(ret->member), "%s", name);
}

/* Static fields lie in the java.lang.Class of their class. */
static void describe_static(struct hotspot *hotspot, uint64_t start,
			    uint32_t offset, struct component *ret)
{
	const struct member *member;
	struct klass *klass;
	uint64_t addr;

	if (!hotspot_word(hotspot, start + hotspot->mirror_klass, &addr))
		return;
	klass = addr ? hotspot_klass(hotspot, addr) : NULL;
	member = klass ? hotspot_field(hotspot, klass, offset, true) : NULL;
	if (!member)
		return;
	component_name(ret, klass->name);
	snprintf(ret->member, sizeof(ret->member), "static %s", member->name);
}

void hotspot_describe(struct hotspot *hotspot, struct klass *klass,
		      uint64_t start, uint64_t size, uint64_t addr,
		      struct component *ret)
{
	uint32_t header = (uint32_t)(klass->layout >> 16) & 0xff;
	const struct member *member;
	uint64_t offset = addr - start;

	ret->kind = "object";
	ret->runtime = "hotspot";
	ret->how = "klass";
	ret->start = start;
	ret->size = size;
	component_name(ret, klass->name);
	if (klass->layout < 0 && offset >= header) {
		snprintf(
			ret->member, sizeof(ret->member), "[%ju]",
			(uintmax_t)((offset - header) >> (klass->layout & 15)));
		return;
	}
	if (klass->layout < 0 || offset < hotspot->header) {
		describe_header(hotspot, (uint32_t)offset, ret);
		return;
	}
	member = hotspot_field(hotspot, klass, (uint32_t)offset, false);
	if (member)
		snprintf(ret->member, sizeof(ret->member), "%s", member->name);
	else if (klass->mirror)
		describe_static(hotspot, start, (uint32_t)offset, ret);
}
