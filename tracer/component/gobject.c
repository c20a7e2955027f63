/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/gobject.h"

enum {
	REACH = 4096,	     /* from an address to its instance, by scan */
	MAX_COUNT = 1 << 24, /* references */
	MAX_FLAGS = 0xff,    /* "optional_flags" of struct GObjectReal */
	MIN_BLOCK = 32,
	PIECE = 64, /* words */
};

/* struct _GObject */
enum { REFS = 8, QDATA = 16, OBJECT_END = 24 };

bool gobject_at(struct gobject *gobject, uint64_t addr, struct instance *ret)
{
	uint64_t word[2];
	uint32_t count;

	if (addr % 8 || !pages_words(gobject->view->pages, addr, word, 2))
		return false;
	ret->type = gobject_class(gobject, word[0]);
	if (!ret->type)
		return false;
	ret->addr = addr;
	count = (uint32_t)word[1];
	ret->dying = ret->type->counted && !count;
	return !ret->type->counted ||
	       (count <= MAX_COUNT && word[1] >> 32 <= MAX_FLAGS);
}

/* The list of data is a pointer with flags. */
static bool has_qdata(struct gobject *gobject, uint64_t addr)
{
	const struct view *view = gobject->view;
	uint64_t list;

	if (!pages_words(view->pages, addr + QDATA, &list, 1))
		return false;
	list &= ~UINT64_C(7);
	return !list || maps_find(view->world->maps, list);
}

/* Of what has no count: a block that is as large as it should be. */
static bool fills_block(struct gobject *gobject, const struct instance *it)
{
	struct chunk chunk;

	return heap_block_at(gobject->view->heap, instance_start(it), &chunk) ==
		       0 &&
	       chunk.size >= instance_size(it) &&
	       chunk.size < instance_size(it) + MIN_BLOCK;
}

bool gobject_lies_at(struct gobject *gobject, uint64_t addr,
		     struct instance *ret)
{
	if (!gobject_at(gobject, addr, ret) || ret->dying ||
	    addr == ret->type->data + GTYPE_DATA_CLASS)
		return false;
	return ret->type->counted ? has_qdata(gobject, addr)
				  : fills_block(gobject, ret);
}

static bool covers(const struct instance *instance, uint64_t addr)
{
	return addr - instance_start(instance) < instance_size(instance);
}

/* The type that declares the byte at @offset, and where its part starts. */
static const struct gtype *declares(const struct gtype *type, int64_t offset,
				    int64_t *start)
{
	while (type->parent) {
		const struct gtype *parent = type->parent;

		if (offset >= 0 && offset >= parent->size)
			break;
		if (offset < 0 && -offset > parent->private)
			break;
		type = parent;
	}
	*start = -(int64_t)type->private;
	if (offset >= 0)
		*start = type->parent ? type->parent->size : 0;
	return type;
}

/* Members have names only where GLib itself declares them. */
static void tell_member(const struct instance *instance, uint64_t addr,
			struct component *ret)
{
	const struct gtype *type = instance->type, *part;
	int64_t offset = (int64_t)(addr - instance->addr), start;
	const char *name = NULL;

	if (offset >= 0 && offset < REFS)
		name = "g_class";
	else if (type->counted && offset >= REFS && offset < REFS + 4)
		name = "ref_count";
	else if (type->counted && offset >= QDATA && offset < OBJECT_END)
		name = "qdata";
	if (name) {
		snprintf(ret->member, sizeof(ret->member), "%s", name);
		return;
	}
	part = declares(type, offset, &start);
	snprintf(ret->member, sizeof(ret->member), "<%.120s%s>+%jd", part->name,
		 offset < 0 ? " private" : "", (intmax_t)(offset - start));
}

void gobject_describe(const struct instance *instance,
		      enum confidence confidence, struct component *ret)
{
	ret->kind = "object";
	ret->runtime = "gobject";
	ret->how = "g_class";
	ret->confidence = confidence;
	ret->start = instance_start(instance);
	ret->size = instance_size(instance);
	component_name(ret, instance->type->name);
}

static bool by_register(struct gobject *gobject, const struct query *query,
			struct instance *ret)
{
	for (unsigned i = 0;
	     i < query->ncandidates && i < ARRAY_SIZE(query->candidates); i++)
		if (gobject_at(gobject, query->candidates[i], ret) &&
		    covers(ret, query->addr))
			return true;
	return false;
}

static struct recent *recent_of(struct gobject *gobject, uint64_t addr)
{
	return &gobject->recent[addr / 64 % ARRAY_SIZE(gobject->recent)];
}

static bool by_recent(struct gobject *gobject, uint64_t addr,
		      struct instance *ret)
{
	const struct recent *recent = recent_of(gobject, addr);

	return recent->line == addr / 64 && recent->instance &&
	       gobject_lies_at(gobject, recent->instance, ret) &&
	       covers(ret, addr);
}

/* New classes come while a program starts, then hardly any. */
static void walk_if_due(struct gobject *gobject)
{
	if (!gobject->pause ||
	    gobject->epoch - gobject->walked >= gobject->pause)
		gobject_walk(gobject);
}

static bool is_instance(struct gobject *gobject, uint64_t addr, uint64_t class,
			uint64_t touched, struct instance *ret)
{
	return gobject_plausible(gobject, class) &&
	       gobject_lies_at(gobject, addr, ret) && covers(ret, touched);
}

/* The first instance that covers @touched, of those that start in a piece. */
static bool in_piece(struct gobject *gobject, uint64_t start, size_t count,
		     uint64_t touched, bool down, struct instance *ret)
{
	uint64_t word[PIECE];

	if (!pages_words(gobject->view->pages, start, word, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		size_t at = down ? count - 1 - i : i;

		if (is_instance(gobject, start + 8 * at, word[at], touched,
				ret))
			return true;
	}
	return false;
}

/*
 * Words around @addr, for the class of an instance that covers it: above it if
 * its private data was touched.  The nearest below wins, because instances do
 * not overlap, but stale words may lie behind one.
 */
static bool by_scan(struct gobject *gobject, uint64_t addr,
		    const struct chunk *chunk, struct instance *ret)
{
	uint64_t at = (addr & ~UINT64_C(7)) + 8, p, next;
	uint64_t low = max_u64((chunk->start + 7) & ~UINT64_C(7),
			       at - min_u64(at, REACH));
	uint64_t high = min_u64((chunk->start + chunk->size) & ~UINT64_C(7),
				at + REACH);

	for (p = at; p > low; p = next) {
		next = max_u64(low, p - 8 * min_u64(PIECE, p / 8));
		if (in_piece(gobject, next, (p - next) / 8, addr, true, ret))
			return true;
	}
	for (p = at; p < high; p = next) {
		next = min_u64(high, p + 8 * PIECE);
		if (in_piece(gobject, p, (next - p) / 8, addr, false, ret))
			return true;
	}
	return false;
}

/* A block may be one instance, or a slab of slices with many. */
static bool by_block(struct gobject *gobject, const struct query *query,
		     struct instance *ret)
{
	const struct view *view = gobject->view;
	struct chunk chunk;

	if (view_on_stack(view, query) ||
	    symbols_module(view->world->symbols, query->addr))
		return false;
	/* Free or not: what is freed has no reference left, and that is seen.
	 */
	if (heap_chunk(view->heap, query->addr, &chunk) < 0)
		chunk = (struct chunk){ 0, UINT64_MAX, false };
	walk_if_due(gobject);
	if (!by_scan(gobject, query->addr, &chunk, ret))
		return false;
	*recent_of(gobject, query->addr) =
		(struct recent){ query->addr / 64, ret->addr };
	return true;
}

static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	enum confidence confidence = CONFIDENCE_EXACT;
	struct gobject *gobject = state;
	struct instance instance;

	if (!by_register(gobject, query, &instance)) {
		confidence = CONFIDENCE_LIKELY;
		if (!by_recent(gobject, query->addr, &instance) &&
		    !by_block(gobject, query, &instance))
			return;
	}
	/* The class that a store will make of it is not known. */
	if (instance.dying || (query->write && query->addr - instance.addr < 8))
		confidence = CONFIDENCE_LIKELY;
	gobject_describe(&instance, confidence, ret);
	tell_member(&instance, query->addr, ret);
}

static void about(void *state, struct runtime_info *ret)
{
	static const char *const part[] = { "glib_major_version",
					    "glib_minor_version",
					    "glib_micro_version" };
	struct gobject *gobject = state;
	const struct world *world = gobject->view->world;
	struct symbol symbol;
	uint32_t number[3];

	ret->module = gobject->module;
	ret->tells = TELLS_CLASSES | TELLS_OBJECTS;
	if (!gobject->known)
		snprintf(ret->reason, sizeof(ret->reason),
			 "how this build of libgobject keeps its types is not "
			 "known");
	for (size_t i = 0; i < ARRAY_SIZE(part); i++)
		if (!symbols_named(world->symbols, "libglib-2.0", part[i],
				   &symbol, 1) ||
		    pages_read(gobject->view->pages, symbol.addr, &number[i],
			       4) < 0)
			return;
	snprintf(ret->version, sizeof(ret->version), "%u.%u.%u", number[0],
		 number[1], number[2]);
}

static void close_gobject(void *state)
{
	struct gobject *gobject = state;

	gobject_forget(gobject);
	free(gobject);
}

static int open_gobject(const struct view *view, void **ret)
{
	const struct module *module = view_module(view, "libgobject-2.0");
	struct gobject *gobject;

	if (!module)
		return -ENOENT;
	gobject = calloc(1, sizeof(*gobject));
	if (!gobject)
		return -ENOMEM;
	gobject->view = view;
	gobject->module = module;
	gobject_locate(gobject);
	*ret = gobject;
	return 0;
}

static void epoch(void *state)
{
	struct gobject *gobject = state;

	gobject->epoch++;
}

const struct runtime runtime_gobject = {
	.name = "gobject",
	.open = open_gobject,
	.close = close_gobject,
	.about = about,
	.resolve = resolve,
	.epoch = epoch,
	.each = gobject_each,
	.classes = gobject_classes,
};
