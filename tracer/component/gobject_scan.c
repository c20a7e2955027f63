/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>

#include "tracer/component/gobject.h"
#include "tracer/component/sweep.h"

struct search {
	struct gobject *gobject;
	const struct scan *scan;
};

static bool matches(struct search *search, struct gtype *type)
{
	if (type->scan != search->gobject->scan) {
		type->scan = search->gobject->scan;
		type->match = !fnmatch(search->scan->class, type->name, 0);
	}
	return type->match;
}

static int found(struct search *search, const struct instance *instance)
{
	struct component component = { 0 };

	gobject_describe(instance, CONFIDENCE_LIKELY, &component);
	return search->scan->visit(search->scan->context, &component);
}

/* As --list counts them. */
static bool is_left_behind(const struct gobject *gobject,
			   const struct instance *instance)
{
	struct chunk chunk;

	if (!gobject->view->world->living)
		return false;
	return instance->dying || (heap_chunk_on(gobject->view->heap,
						 instance->addr, &chunk) == 0 &&
				   chunk.free);
}

static int look(void *context, uint64_t addr, const uint64_t *word,
		size_t count)
{
	struct search *search = context;
	struct gobject *gobject = search->gobject;

	for (size_t i = 0; i < count; i++) {
		struct instance instance;
		struct gtype *type;
		int r;

		if (!gobject_plausible(gobject, word[i]))
			continue;
		type = gobject_class(gobject, word[i]);
		if (!type || !matches(search, type) ||
		    !gobject_lies_at(gobject, addr + 8 * i, &instance) ||
		    is_left_behind(gobject, &instance))
			continue;
		r = found(search, &instance);
		if (r != 0)
			return r;
	}
	return 0;
}

int gobject_each(void *state, const struct scan *scan)
{
	struct search search = { state, scan };

	/* Constants and variables of a module hold classes, no instances. */
	if (symbols_module(search.gobject->view->world->symbols, scan->start))
		return 0;
	gobject_walk(search.gobject);
	search.gobject->scan++;
	return sweep(search.gobject->view, scan->start, scan->end, look,
		     &search);
}

struct names {
	int (*visit)(void *context, const char *name);
	void *context;
};

static int tell_name(struct gobject *gobject, uint64_t type, const char *name,
		     void *context)
{
	struct names *names = context;

	return names->visit(names->context, name);
}

int gobject_classes(void *state, int (*visit)(void *context, const char *name),
		    void *context)
{
	struct names names = { visit, context };

	return gobject_types(state, tell_name, &names);
}
