/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/runtime.h"

enum {
	/* glibc's struct pthread lies at fs_base, thread variables below it. */
	PTHREAD = 2304,
	THREAD_VARIABLES = 256,
};

/* These runtimes have no state of their own. */
static int open_plain(const struct view *view, void **ret)
{
	*ret = (void *)(uintptr_t)view;
	return 0;
}

static void close_plain(void *state)
{
}

static void answer(struct component *ret, const char *kind, const char *how,
		   enum confidence confidence, uint64_t start, uint64_t size)
{
	ret->kind = kind;
	ret->runtime = "c";
	ret->how = how;
	ret->confidence = confidence;
	ret->start = start;
	ret->size = size;
}

/* A block of malloc's. */
static void resolve_heap(void *state, const struct query *query,
			 struct component *ret)
{
	const struct view *view = state;
	struct chunk chunk;

	if (view_on_stack(view, query) ||
	    heap_chunk(view->heap, query->addr, &chunk) < 0)
		return;
	answer(ret, "block", "chunk", CONFIDENCE_LIKELY, chunk.start,
	       chunk.size);
	component_name(ret, chunk.free ? "free heap block" : "heap block");
}

const struct runtime runtime_heap = {
	.name = "heap",
	.open = open_plain,
	.close = close_plain,
	.resolve = resolve_heap,
};

bool view_on_stack(const struct view *view, const struct query *query)
{
	const struct mapping *m = maps_find(view->world->maps, query->addr);

	if (!m)
		return false;
	if (!strcmp(m->path, "[stack]"))
		return true;
	return query->sp >= m->start && query->sp < m->end;
}

static bool is_thread_memory(const struct query *query)
{
	return query->fs_base &&
	       query->addr + THREAD_VARIABLES >= query->fs_base &&
	       query->addr < query->fs_base + PTHREAD;
}

static void resolve_anonymous(const struct view *view,
			      const struct query *query,
			      const struct mapping *m, struct component *ret)
{
	const struct module *module =
		symbols_module(view->world->symbols, query->addr);

	ret->kind = "anon";
	component_name(ret, *m->path ? m->path : "anonymous memory");
	if (is_thread_memory(query)) {
		ret->kind = "tls";
		ret->confidence = CONFIDENCE_GUESS;
		component_name(ret, "thread-local memory");
	} else if (view_on_stack(view, query)) {
		ret->kind = "stack";
		component_name(ret, *m->path ? m->path : "thread stack");
	} else if (module) {
		/* .bss of a module without symbols */
		ret->kind = "file";
		component_name(ret, module->path);
	}
}

/* Whatever the map says; always an answer if there is a mapping at all. */
static void resolve_mapping(void *state, const struct query *query,
			    struct component *ret)
{
	const struct view *view = state;
	const struct mapping *m = maps_find(view->world->maps, query->addr);

	if (!m)
		return;
	answer(ret, "file", "map", CONFIDENCE_LIKELY, m->start,
	       m->end - m->start);
	if (m->inode)
		component_name(ret, m->path);
	else
		resolve_anonymous(view, query, m, ret);
}

const struct runtime runtime_mapping = {
	.name = "mapping",
	.open = open_plain,
	.close = close_plain,
	.resolve = resolve_mapping,
};
