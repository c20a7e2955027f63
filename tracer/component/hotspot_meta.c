/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine knows of classes and methods lies in memory of its own,
 * without an order that could be walked.  So who points to it is believed if
 * it points back: a method data to its method, a constant pool to its class.
 */
#include <string.h>

#include "tracer/component/hotspot.h"

enum {
	BACK = 1024,	     /* bytes below an address that are searched */
	MAX_REACH = 1 << 16, /* of what tells no size */
	MAX_SYMBOL = 512,
	NATIVE = 16, /* words of a native method behind its Method */
};

/* One kind of metadata: what starts at an address, named, and its size. */
struct found {
	const char *what;
	char name[COMPONENT_NAME];
	uint64_t start, size;
};

/* A constant pool, which its class knows, too. */
static struct klass *pool_class(struct hotspot *hotspot, uint64_t pool)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t holder, back;

	if (pool % 8 || at->pool_holder < 0 || at->constants < 0 ||
	    !hotspot_word(hotspot, pool + at->pool_holder, &holder) ||
	    !hotspot_klass(hotspot, holder) ||
	    !hotspot_word(hotspot, holder + at->constants, &back) ||
	    back != pool)
		return NULL;
	return hotspot_klass(hotspot, holder);
}

/* CLASS.METHOD of a ConstMethod. */
static bool const_name(struct hotspot *hotspot, uint64_t constant, char *text,
		       size_t size)
{
	const struct hotspot_layout *at = &hotspot->at;
	struct klass *klass;
	uint64_t pool, symbol;
	uint16_t index;
	size_t n;

	if (constant % 8 || at->const_constants < 0 || at->const_name < 0 ||
	    at->pool_size < 0 ||
	    !hotspot_word(hotspot, constant + at->const_constants, &pool))
		return false;
	klass = pool_class(hotspot, pool);
	if (!klass ||
	    !hotspot_short(hotspot, constant + at->const_name, &index) ||
	    !hotspot_word(hotspot, pool + at->pool_size + 8 * index, &symbol))
		return false;
	n = (size_t)snprintf(text, size, "%s.", klass->name);
	return n < size && hotspot_symbol(hotspot, symbol & ~UINT64_C(7),
					  text + n, size - n);
}

bool hotspot_method(struct hotspot *hotspot, uint64_t method, char *text,
		    size_t size)
{
	uint64_t constant;

	return method % 8 == 0 && hotspot->at.method_const >= 0 &&
	       hotspot_word(hotspot, method + hotspot->at.method_const,
			    &constant) &&
	       const_name(hotspot, constant, text, size);
}

static bool is_class(struct hotspot *hotspot, uint64_t addr,
		     struct found *found)
{
	struct klass *klass = hotspot_klass(hotspot, addr);

	if (!klass)
		return false;
	found->what = "Klass";
	found->size = MAX_REACH;
	snprintf(found->name, sizeof(found->name), "%s", klass->name);
	return true;
}

static bool is_method(struct hotspot *hotspot, uint64_t addr,
		      struct found *found)
{
	found->what = "Method";
	found->size = hotspot->at.method_size > 0
			      ? (uint64_t)hotspot->at.method_size + NATIVE
			      : 0;
	return hotspot_method(hotspot, addr, found->name, sizeof(found->name));
}

static bool is_const(struct hotspot *hotspot, uint64_t addr,
		     struct found *found)
{
	uint32_t words;

	found->what = "ConstMethod";
	if (hotspot->at.const_size < 0 ||
	    !hotspot_int(hotspot, addr + hotspot->at.const_size, &words))
		return false;
	found->size = 8 * (uint64_t)words;
	return const_name(hotspot, addr, found->name, sizeof(found->name));
}

static bool is_pool(struct hotspot *hotspot, uint64_t addr, struct found *found)
{
	struct klass *klass = pool_class(hotspot, addr);
	uint32_t length;

	if (!klass || hotspot->at.pool_length < 0 ||
	    !hotspot_int(hotspot, addr + hotspot->at.pool_length, &length))
		return false;
	found->what = "ConstantPool";
	found->size = (uint64_t)hotspot->at.pool_size + 8 * (uint64_t)length;
	snprintf(found->name, sizeof(found->name), "%s", klass->name);
	return true;
}

static bool is_cache(struct hotspot *hotspot, uint64_t addr,
		     struct found *found)
{
	const struct hotspot_layout *at = &hotspot->at;
	struct klass *klass;
	uint64_t pool, back;

	if (at->cache_pool < 0 || at->pool_cache < 0 ||
	    !hotspot_word(hotspot, addr + at->cache_pool, &pool) || pool % 8 ||
	    !hotspot_word(hotspot, pool + at->pool_cache, &back) ||
	    back != addr)
		return false;
	klass = pool_class(hotspot, pool);
	if (!klass)
		return false;
	found->what = "ConstantPoolCache";
	found->size = MAX_REACH;
	snprintf(found->name, sizeof(found->name), "%s", klass->name);
	return true;
}

static bool is_data(struct hotspot *hotspot, uint64_t addr, struct found *found)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t method, back;
	uint32_t size;

	if (at->data_method < 0 || at->data_size < 0 || at->method_data < 0 ||
	    !hotspot_word(hotspot, addr + at->data_method, &method) ||
	    method % 8 ||
	    !hotspot_word(hotspot, method + at->method_data, &back) ||
	    back != addr || !hotspot_int(hotspot, addr + at->data_size, &size))
		return false;
	found->what = "MethodData";
	found->size = size;
	return hotspot_method(hotspot, method, found->name,
			      sizeof(found->name));
}

/* The names of things, of those that are loaded with the machine. */
static bool is_symbol(struct hotspot *hotspot, uint64_t addr,
		      struct found *found)
{
	uint16_t length;

	if (addr < hotspot->shared || addr >= hotspot->shared_end ||
	    !hotspot_short(hotspot, addr + hotspot->at.symbol_length,
			   &length) ||
	    length > MAX_SYMBOL ||
	    !hotspot_symbol(hotspot, addr, found->name, sizeof(found->name)))
		return false;
	found->what = "Symbol";
	found->size = (uint64_t)hotspot->at.symbol_body + length;
	return true;
}

static bool look(struct hotspot *hotspot, uint64_t start, uint64_t addr,
		 struct found *found)
{
	static bool (*const kind[])(struct hotspot * hotspot, uint64_t addr,
				    struct found * found) = {
		is_class, is_method, is_data, is_const, is_cache, is_pool,
	};

	if (start % 8 || start > addr || addr - start >= MAX_REACH)
		return false;
	found->start = start;
	for (size_t i = 0; i < ARRAY_SIZE(kind); i++)
		if (kind[i](hotspot, start, found) &&
		    addr - start < found->size)
			return true;
	return false;
}

/* Only its method knows them: one that a register points to. */
static bool is_counters(struct hotspot *hotspot, const struct query *query,
			uint64_t start, struct found *found)
{
	const struct hotspot_layout *at = &hotspot->at;

	if (!query->registers || at->method_counters < 0 ||
	    at->counters_size < 0 ||
	    query->addr - start >= (uint64_t)at->counters_size)
		return false;
	for (int i = 0; i < 16; i++) {
		uint64_t method = query->registers[i], counters;

		if (method % 8 || method < PAGE ||
		    !hotspot_word(hotspot, method + at->method_counters,
				  &counters) ||
		    counters != start ||
		    !hotspot_method(hotspot, method, found->name,
				    sizeof(found->name)))
			continue;
		found->what = "MethodCounters";
		found->start = start;
		found->size = (uint64_t)at->counters_size;
		return true;
	}
	return false;
}

/* Anonymous memory, or that of a file of classes. */
static bool may_hold(struct hotspot *hotspot, const struct query *query)
{
	const struct world *world = hotspot->view->world;
	const struct mapping *m = maps_find(world->maps, query->addr);

	if (!m || view_on_stack(hotspot->view, query) ||
	    symbols_module(world->symbols, query->addr))
		return false;
	return !m->path[0] || strstr(m->path, ".jsa");
}

static void describe(const struct found *found, enum confidence confidence,
		     struct component *ret)
{
	ret->kind = "metadata";
	ret->runtime = "hotspot";
	ret->how = "metaspace";
	ret->confidence = confidence;
	ret->start = found->start;
	ret->size = found->size == MAX_REACH ? 0 : found->size;
	component_name(ret, found->name);
	snprintf(ret->member, sizeof(ret->member), "<%s>", found->what);
}

/* Metaspace grows by so much; where some was found there is more. */
static uint64_t *granule(struct hotspot *hotspot, uint64_t addr)
{
	return &hotspot->granule[(addr >> 22) % HOTSPOT_GRANULES];
}

static bool by_search(struct hotspot *hotspot, uint64_t addr,
		      struct found *found)
{
	uint64_t start = addr & ~UINT64_C(7);

	if (*granule(hotspot, addr) != addr >> 22)
		return false;
	for (uint64_t low = start - BACK; start > low; start -= 8)
		if (look(hotspot, start, addr, found))
			return true;
	return false;
}

void hotspot_meta(struct hotspot *hotspot, const struct query *query,
		  struct component *ret)
{
	uint64_t addr = query->addr;
	struct found found;

	if (!may_hold(hotspot, query))
		return;
	for (unsigned i = 0;
	     i < query->ncandidates && i < ARRAY_SIZE(query->candidates); i++) {
		uint64_t start = query->candidates[i];

		if (start > addr || start % 8 ||
		    (!look(hotspot, start, addr, &found) &&
		     !is_counters(hotspot, query, start, &found)))
			continue;
		*granule(hotspot, addr) = addr >> 22;
		describe(&found, CONFIDENCE_EXACT, ret);
		return;
	}
	if (by_search(hotspot, addr, &found)) {
		describe(&found, CONFIDENCE_LIKELY, ret);
		return;
	}
	for (unsigned i = 0;
	     i < query->ncandidates && i < ARRAY_SIZE(query->candidates); i++) {
		found.start = query->candidates[i];
		if (found.start <= addr &&
		    is_symbol(hotspot, found.start, &found) &&
		    addr - found.start < found.size) {
			describe(&found, CONFIDENCE_LIKELY, ret);
			return;
		}
	}
}
