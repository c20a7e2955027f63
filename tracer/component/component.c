/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tracer/component/runtime.h"

/* In the order in which they are asked; of equals the first wins. */
static const struct runtime *const runtimes[] = {
	&runtime_cxx,
	&runtime_global,
	&runtime_heap,
	&runtime_mapping,
};

struct resolver {
	struct view view;
	void *state[ARRAY_SIZE(runtimes)];
	bool open[ARRAY_SIZE(runtimes)];
};

void component_name(struct component *component, const char *name)
{
	size_t size = strlen(name);

	if (size >= sizeof(component->name)) {
		size = sizeof(component->name) - 1;
		/* Not in the middle of a UTF-8 character */
		while (size && ((unsigned char)name[size] & 0xc0) == 0x80)
			size--;
	}
	memcpy(component->name, name, size);
	component->name[size] = '\0';
}

static int open_all(struct resolver *resolver)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		int r = runtimes[i]->open(&resolver->view, &resolver->state[i]);

		if (r < 0 && r != -ENOENT)
			return r;
		resolver->open[i] = r == 0;
	}
	return 0;
}

int resolver_new(const struct world *world, struct resolver **ret)
{
	_cleanup_(resolver_freep) struct resolver *resolver =
		calloc(1, sizeof(*resolver));
	struct view *view;
	int r;

	if (!resolver)
		return -ENOMEM;
	view = &resolver->view;
	view->world = world;
	view->pages = pages_new(&world->memory);
	if (!view->pages)
		return -ENOMEM;
	view->heap = heap_new(view->pages);
	if (!view->heap)
		return -ENOMEM;
	r = open_all(resolver);
	if (r < 0)
		return r;
	resolver_remap(resolver);
	*ret = take(resolver);
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (resolver->open[i])
			runtimes[i]->close(resolver->state[i]);
	heap_free(resolver->view.heap);
	pages_free(resolver->view.pages);
	free(resolver);
}

void resolver_stored(struct resolver *resolver, uint64_t addr,
		     const void *bytes, size_t size)
{
	pages_stored(resolver->view.pages, addr, bytes, size);
}

void resolver_epoch(struct resolver *resolver)
{
	pages_forget(resolver->view.pages);
	resolver_went_on(resolver);
}

void resolver_went_on(struct resolver *resolver)
{
	heap_epoch(resolver->view.heap);
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (resolver->open[i] && runtimes[i]->epoch)
			runtimes[i]->epoch(resolver->state[i]);
}

void resolver_remap(struct resolver *resolver)
{
	const struct world *world = resolver->view.world;

	pages_forget(resolver->view.pages);
	heap_remap(resolver->view.heap, world->maps, world->symbols);
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (resolver->open[i] && runtimes[i]->remap)
			runtimes[i]->remap(resolver->state[i]);
}

/*
 * A class that is only guessed is still more than a block or a mapping, which
 * are what the object lies in; a variable that has a name is more than it.
 */
static bool is_better(const struct component *a, const struct component *b)
{
	if (!b->kind)
		return a->confidence != CONFIDENCE_NONE;
	if (!strcmp(b->kind, "object"))
		return a->confidence == CONFIDENCE_EXACT &&
		       b->confidence < CONFIDENCE_LIKELY;
	return a->confidence > b->confidence;
}

/* Most of a component is room for long names. */
static void clear(struct component *component)
{
	memset(component, 0, offsetof(struct component, name));
	component->name[0] = component->member[0] = '\0';
}

static void copy(struct component *to, const struct component *from)
{
	memcpy(to, from, offsetof(struct component, name));
	strcpy(to->name, from->name);
	strcpy(to->member, from->member);
}

void resolver_resolve(struct resolver *resolver, const struct query *query,
		      struct component *ret)
{
	struct component component;

	clear(ret);
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		if (!resolver->open[i])
			continue;
		clear(&component);
		runtimes[i]->resolve(resolver->state[i], query, &component);
		if (is_better(&component, ret))
			copy(ret, &component);
		if (ret->confidence == CONFIDENCE_EXACT)
			return;
	}
	if (ret->kind)
		return;
	ret->kind = "anon";
	ret->runtime = "c";
	ret->how = "none";
	ret->start = query->addr;
	component_name(ret, "unmapped memory");
}

int resolver_objects(struct resolver *resolver, uint64_t start, uint64_t end,
		     const char *class,
		     int (*visit)(void *context,
				  const struct component *object),
		     void *context)
{
	struct scan scan = { start, end, class, visit, context };

	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		int r = 0;

		if (resolver->open[i] && runtimes[i]->each)
			r = runtimes[i]->each(resolver->state[i], &scan);
		if (r != 0)
			return r;
	}
	return 0;
}

int resolver_classes(struct resolver *resolver,
		     int (*visit)(void *context, const char *name),
		     void *context)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		int r = 0;

		if (resolver->open[i] && runtimes[i]->classes)
			r = runtimes[i]->classes(resolver->state[i], visit,
						 context);
		if (r != 0)
			return r;
	}
	return 0;
}

const char *confidence_name(enum confidence confidence)
{
	static const char *const name[] = {
		[CONFIDENCE_NONE] = "none",
		[CONFIDENCE_GUESS] = "guess",
		[CONFIDENCE_LIKELY] = "likely",
		[CONFIDENCE_EXACT] = "exact",
	};

	return name[confidence];
}
