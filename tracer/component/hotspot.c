/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/hotspot_stack.h"

/* How far below an address a register may lie. */
enum { MAX_OBJECT = 1 << 30 };

/* Does this collector's heap hold @addr? */
bool hotspot_in_heap(const struct hotspot *hotspot, uint64_t addr)
{
	const struct mapping *m;

	if (hotspot->collector != COLLECTOR_Z)
		return addr >= hotspot->start && addr < hotspot->end;
	/* Z maps its heap up to three times, and tells no range. */
	m = maps_find(hotspot->view->world->maps, addr);
	return m && strstr(m->path, "java_heap");
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
		    !hotspot_in_heap(hotspot, start) ||
		    !fits_header(hotspot, query, start))
			continue;
		klass = hotspot_object(hotspot, start, &size);
		if (!klass || query->addr - start >= size)
			continue;
		if (hotspot_is_made(hotspot, query, klass, start)) {
			hotspot_describe_made(query, start, ret);
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
	    hotspot_is_zero(hotspot, query)) {
		hotspot_describe_made(query, start, ret);
		ret->confidence = CONFIDENCE_LIKELY;
		return;
	}
	hotspot_describe(hotspot, klass, start, size, query->addr, ret);
	ret->how = "region";
	ret->confidence = CONFIDENCE_LIKELY;
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
	hotspot_moved(hotspot);
	if (!hotspot_in_heap(hotspot, query->addr)) {
		if (!hotspot_code(hotspot, query->addr, ret))
			hotspot_meta(hotspot, query, ret);
		return;
	}
	if (by_register(hotspot, query, ret))
		return;
	by_parse(hotspot, query, ret);
	if (ret->confidence == CONFIDENCE_NONE &&
	    !hotspot_by_copy(hotspot, query, ret) &&
	    !hotspot_by_piece(hotspot, query, ret))
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
	ret->tells =
		TELLS_CLASSES | TELLS_MEMBERS | TELLS_OBJECTS | TELLS_FRAMES;
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
	hotspot_forget_code(hotspot);
	hotspot_forget_methods(hotspot);
	free(hotspot->codelet);
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

	if (!is_ready(hotspot))
		return 0;
	hotspot_moved(hotspot);
	return hotspot_each(hotspot, scan);
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

static bool code(void *state, struct code *ret)
{
	struct hotspot *hotspot = state;

	if (!is_ready(hotspot) || hotspot->code_high <= hotspot->code_low)
		return false;
	hotspot_find_interpreter(hotspot);
	*ret = (struct code){
		.start = hotspot->code_low,
		.end = hotspot->code_high,
		.context = hotspot,
		.caller = hotspot_caller,
	};
	return true;
}

static int frames(void *state, const struct stack_query *query,
		  struct managed *managed)
{
	struct hotspot *hotspot = state;

	return is_ready(hotspot) ? hotspot_frames(hotspot, query, managed)
				 : -ENOENT;
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
	.frames = frames,
	.code = code,
};
