/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/hotspot.h"

enum {
	MAX_OBJECT = 1 << 30, /* bytes that a register may lie below */
	MARK_UNLOCKED = 1,

	/* Of machine code. */
	LOCK_PREFIX = 0xf0,
	REX_W = 0x48,
	STORE = 0x89,
	BY_INDEX = 4, /* in ModRM: an SIB byte follows */
	SCALE_8 = 3,
};

/* Does this collector's heap hold @addr? */
static bool in_heap(const struct hotspot *hotspot, uint64_t addr)
{
	const struct mapping *m;

	if (hotspot->collector != COLLECTOR_Z)
		return addr >= hotspot->start && addr < hotspot->end;
	/* Z maps its heap up to three times, and tells no range. */
	m = maps_find(hotspot->view->world->maps, addr);
	return m && strstr(m->path, "java_heap");
}

static bool is_zero(struct hotspot *hotspot, uint64_t addr)
{
	uint64_t word = 1;

	return hotspot_word(hotspot, addr & ~UINT64_C(7), &word) && !word;
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

/*
 * Is an object being made at @start, so that its class is that of something
 * dead which lay there?
 */
static bool is_made(struct hotspot *hotspot, const struct query *query,
		    const struct klass *klass, uint64_t start)
{
	uint64_t mark;

	if (!query->write || hotspot->collecting || hotspot->compact)
		return false;
	if (query->addr - start < 8)
		return hotspot_word(hotspot, start, &mark) &&
		       mark == MARK_UNLOCKED &&
		       makes_mark(hotspot, query, start);
	return klass->layout > 0 && is_zero(hotspot, query->addr - 4) &&
	       makes_fields(hotspot, query);
}

static void describe_made(const struct query *query, uint64_t start,
			  struct component *ret)
{
	ret->kind = "block";
	ret->runtime = "hotspot";
	ret->how = "allocation";
	ret->confidence = CONFIDENCE_EXACT;
	ret->start = start;
	component_name(ret, "new Java object");
}

/* Words of a header are read and written whole. */
static bool fits_header(const struct hotspot *hotspot,
			const struct query *query, uint64_t start)
{
	return query->addr - start >= hotspot->header || query->size >= 4;
}

/* By a register that holds the object's start. */
static bool by_register(struct hotspot *hotspot, const struct query *query,
			struct component *ret)
{
	for (unsigned i = 0;
	     i < query->ncandidates && i < ARRAY_SIZE(query->candidates); i++) {
		uint64_t start = query->candidates[i], size;
		struct klass *klass;

		if (start > query->addr || query->addr - start > MAX_OBJECT ||
		    !in_heap(hotspot, start) ||
		    !fits_header(hotspot, query, start))
			continue;
		klass = hotspot_object(hotspot, start, &size);
		if (!klass || query->addr - start >= size)
			continue;
		if (is_made(hotspot, query, klass, start)) {
			describe_made(query, start, ret);
			return true;
		}
		hotspot_describe(hotspot, klass, start, size, query->addr, ret);
		ret->confidence = CONFIDENCE_EXACT;
		/* The length comes after the class. */
		if (query->write && klass->layout < 0 &&
		    query->addr - start < hotspot->length)
			ret->size = 0;
		return true;
	}
	return false;
}

static void by_parse(struct hotspot *hotspot, const struct query *query,
		     struct component *ret)
{
	uint64_t start, size;
	struct klass *klass =
		hotspot_parse(hotspot, query->addr, &start, &size);

	if (!klass)
		return;
	/* The newest of its thread may not have its header yet. */
	if (query->write && !hotspot->collecting &&
	    hotspot_is_newest(hotspot, start + size) &&
	    is_zero(hotspot, query->addr)) {
		describe_made(query, start, ret);
		ret->confidence = CONFIDENCE_LIKELY;
		return;
	}
	hotspot_describe(hotspot, klass, start, size, query->addr, ret);
	ret->how = "region";
	ret->confidence = CONFIDENCE_LIKELY;
}

static bool is_copy(struct hotspot *hotspot, uint64_t from, uint64_t to,
		    uint64_t offset)
{
	uint64_t word[2];

	return hotspot_word(hotspot, from + offset, &word[0]) &&
	       hotspot_word(hotspot, to + offset, &word[1]) &&
	       word[0] == word[1];
}

/*
 * A collection copies an object from its end to its beginning, where the class
 * is; a register holds the object that it is a copy of.
 */
static bool by_copy(struct hotspot *hotspot, const struct query *query,
		    struct component *ret)
{
	uint64_t start = query->candidates[0], offset = query->addr - start;

	if (!query->write || !hotspot->collecting || !query->registers ||
	    !query->ncandidates || start % hotspot->alignment || offset % 8)
		return false;
	for (int i = 0; i < 16; i++) {
		uint64_t from = query->registers[i], size;
		struct klass *klass;

		if (from == start || !in_heap(hotspot, from))
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

/* Memory that a thread took for objects, and where none is yet. */
static bool by_piece(struct hotspot *hotspot, const struct query *query,
		     struct component *ret)
{
	uint64_t start = query->candidates[0];

	if (!query->write || !query->ncandidates ||
	    !hotspot_piece_start(hotspot, query->addr))
		return false;
	describe_made(query,
		      hotspot_piece_start(hotspot, start) ? start : query->addr,
		      ret);
	ret->confidence = CONFIDENCE_LIKELY;
	return true;
}

/* Memory of the heap in which no object was found is still the heap's. */
static void describe_heap(struct hotspot *hotspot, const struct query *query,
			  struct component *ret)
{
	static const char *const collector[] = {
		[COLLECTOR_SERIAL] = "serial",
		[COLLECTOR_PARALLEL] = "parallel",
		[COLLECTOR_G1] = "g1",
		[COLLECTOR_Z] = "z",
		[COLLECTOR_SHENANDOAH] = "shenandoah",
		[COLLECTOR_OTHER] = "unknown collector",
	};
	struct hotspot_space space;

	ret->kind = "anon";
	ret->runtime = "hotspot";
	ret->how = collector[hotspot->collector];
	ret->confidence = CONFIDENCE_EXACT;
	ret->start = query->addr;
	if (hotspot_space(hotspot, query->addr, &space)) {
		ret->start = space.start;
		ret->size = space.end - space.start;
	}
	component_name(ret, "Java heap");
}

static bool is_ready(struct hotspot *hotspot)
{
	if (hotspot->phase == PHASE_READY)
		return true;
	return hotspot->phase == PHASE_TABLES && hotspot_open(hotspot) == 0;
}

static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	struct hotspot *hotspot = state;

	if (!is_ready(hotspot))
		return;
	if (!in_heap(hotspot, query->addr)) {
		if (!hotspot_code(hotspot, query->addr, ret))
			hotspot_meta(hotspot, query, ret);
		return;
	}
	hotspot_moved(hotspot);
	if (by_register(hotspot, query, ret))
		return;
	by_parse(hotspot, query, ret);
	if (ret->confidence == CONFIDENCE_NONE &&
	    !by_copy(hotspot, query, ret) && !by_piece(hotspot, query, ret))
		describe_heap(hotspot, query, ret);
}

/* It is there, and its constructors have run. */
static int open_hotspot(const struct view *view, void **ret)
{
	struct hotspot *hotspot;
	int r;

	if (!view_module(view, "libjvm"))
		return -ENOENT;
	hotspot = calloc(1, sizeof(*hotspot));
	if (!hotspot)
		return -ENOMEM;
	hotspot->view = view;
	hotspot->pages = view->pages;
	hotspot->epoch = 1;
	hotspot->phase = PHASE_TABLES;
	r = hotspot_layout_read(view->pages, view->world->symbols,
				&hotspot->at);
	if (r == -EBADMSG) {
		hotspot->phase = PHASE_REFUSED;
	} else if (r < 0) {
		free(hotspot);
		return r;
	}
	*ret = hotspot;
	return 0;
}

static void about(void *state, struct runtime_info *ret)
{
	struct hotspot *hotspot = state;
	uint64_t text;

	ret->module = view_module(hotspot->view, "libjvm");
	ret->tells = TELLS_CLASSES | TELLS_MEMBERS | TELLS_OBJECTS;
	if (hotspot->at.version >= 0 &&
	    hotspot_word(hotspot, hotspot->at.version, &text) && text)
		hotspot_text(hotspot, text, ret->version, sizeof(ret->version));
	if (hotspot->phase == PHASE_REFUSED)
		snprintf(ret->reason, sizeof(ret->reason),
			 "the tables of its layout make no sense");
}

static void close_hotspot(void *state)
{
	struct hotspot *hotspot = state;

	hotspot_forget_classes(hotspot);
	free(hotspot->starts);
	free(hotspot);
}

static void epoch(void *state)
{
	struct hotspot *hotspot = state;

	/* After 2^32 stops what is old would look fresh. */
	if (++hotspot->epoch == 0) {
		hotspot_forget_classes(hotspot);
		memset(hotspot->absent, 0, sizeof(hotspot->absent));
		hotspot->moves++;
		hotspot->epoch = 1;
	}
}

static int each(void *state, const struct scan *scan)
{
	struct hotspot *hotspot = state;

	return is_ready(hotspot) ? hotspot_each(hotspot, scan) : 0;
}

struct gathering {
	int (*visit)(void *context, const char *name);
	void *context;
};

static int give_name(void *context, struct klass *klass)
{
	struct gathering *gathering = context;

	return gathering->visit(gathering->context, klass->name);
}

static int classes(void *state, int (*visit)(void *context, const char *name),
		   void *context)
{
	struct gathering gathering = { visit, context };
	struct hotspot *hotspot = state;

	return is_ready(hotspot)
		       ? hotspot_each_class(hotspot, give_name, &gathering)
		       : 0;
}

const struct runtime runtime_hotspot = {
	.name = "hotspot",
	.open = open_hotspot,
	.close = close_hotspot,
	.about = about,
	.resolve = resolve,
	.epoch = epoch,
	.remap = epoch,
	.each = each,
	.classes = classes,
};
