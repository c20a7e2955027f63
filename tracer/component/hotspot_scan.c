/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>

#include "tracer/component/hotspot.h"

/* Spaces and regions begin at multiples of this. */
#define GRAIN (UINT64_C(64) << 10)

struct walk {
	struct hotspot *hotspot;
	const struct scan *scan;
	struct hotspot_space space;
};

static bool matches(struct hotspot *hotspot, struct klass *klass,
		    const struct scan *scan)
{
	if (klass->scan != hotspot->scan) {
		klass->scan = hotspot->scan;
		klass->match = fnmatch(scan->class, klass->name, 0) == 0;
	}
	return klass->match;
}

static int visit(const struct walk *walk, struct klass *klass, uint64_t addr,
		 uint64_t size)
{
	struct component object = {
		.kind = "object",
		.runtime = "hotspot",
		.how = "klass",
		.confidence = CONFIDENCE_LIKELY,
		.class = klass->addr,
		.start = addr,
		.size = size,
	};

	if (addr < walk->scan->start ||
	    !matches(walk->hotspot, klass, walk->scan))
		return 0;
	component_name(&object, klass->name);
	return walk->scan->visit(walk->scan->context, &object);
}

/* Where to begin: a scan of neighbouring memory may have ended just here. */
static uint64_t begin(const struct walk *walk)
{
	const struct hotspot *hotspot = walk->hotspot;

	if (hotspot->resume_epoch == hotspot->epoch &&
	    hotspot->resume == walk->scan->start &&
	    hotspot->resume_object >= walk->space.start &&
	    hotspot->resume_object <= walk->space.top)
		return hotspot->resume_object;
	return walk->space.start;
}

static int scan_space(const struct walk *walk)
{
	struct hotspot *hotspot = walk->hotspot;
	const struct hotspot_space *space = &walk->space;
	uint64_t end = min_u64(walk->scan->end, space->top);
	uint64_t at = begin(walk), size;

	while (at < end) {
		uint64_t piece = space->young ? hotspot_piece(hotspot, at) : 0;
		struct klass *klass;
		int r;

		if (piece) {
			at = piece;
			continue;
		}
		klass = hotspot_object(hotspot, at, &size);
		if (!klass || size > space->top - at) {
			at = hotspot_search(hotspot, space,
					    at + hotspot->alignment, end - 1);
			if (!at)
				return 0;
			continue;
		}
		r = visit(walk, klass, at, size);
		if (r != 0)
			return r;
		at += size;
	}
	hotspot->resume = walk->scan->end;
	hotspot->resume_object = at;
	hotspot->resume_epoch = hotspot->epoch;
	return 0;
}

/* Of its later regions the space is that of the first. */
static int scan_single(struct walk *walk, uint64_t at)
{
	uint64_t size, start = walk->space.start;
	struct klass *klass = hotspot_object(walk->hotspot, start, &size);

	if (!klass)
		return 0;
	walk->space.end = max_u64(walk->space.end, start + size);
	return at <= start ? visit(walk, klass, start, size) : 0;
}

int hotspot_each(struct hotspot *hotspot, const struct scan *scan)
{
	struct walk walk = { .hotspot = hotspot, .scan = scan };
	uint64_t at;

	hotspot->scan++;
	at = max_u64(scan->start, hotspot->start);
	while (at < min_u64(scan->end, hotspot->end)) {
		int r;

		if (!hotspot_space(hotspot, at, &walk.space)) {
			at = (at / GRAIN + 1) * GRAIN;
			continue;
		}
		r = walk.space.single ? scan_single(&walk, at)
				      : scan_space(&walk);
		if (r != 0)
			return r;
		at = max_u64(walk.space.end, (at / GRAIN + 1) * GRAIN);
	}
	return 0;
}
