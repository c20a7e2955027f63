/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tracer/component/registry.h"

/*
 * In the order in which they are asked; of equals the first wins, and an exact
 * answer ends the search.  First those that know their objects by a word in
 * them, which is a read and a look into a table (some 0.2 us where they find
 * nothing); C++ last of them, because it walks the heap for what it does not
 * know; then what needs no runtime.
 */
static const struct runtime *const runtimes[] = {
	&runtime_hotspot, /* klass in an object's header */
	&runtime_cpython, /* ob_type */
	&runtime_gobject, /* class of an instance */
	&runtime_ruby,	  /* slot of a heap page */
	&runtime_v8,	  /* map, by a tagged pointer */
	&runtime_cxx,	  /* vtable pointer */
	&runtime_global,  /* from here on of every process */
	&runtime_tls,	  /* of a thread */
	&runtime_frame,	  /* of its stack */
	&runtime_owned,	  /* block that a typed pointer leads to */
	&runtime_heap,	  /* block of malloc */
	&runtime_mapping, /* what the map says */
	NULL,
};
_Static_assert(ARRAY_SIZE(runtimes) <= RUNTIMES, "each has an entry");

struct resolver {
	struct view view;
	struct registry registry;
};

static const char none[] = "none";

const char *runtime_name(size_t i)
{
	size_t count = 0;

	for (size_t k = 0; runtimes[k]; k++)
		if (runtimes[k]->about && count++ == i)
			return runtimes[k]->name;
	return i == count ? none : NULL;
}

unsigned runtime_bit(const char *name)
{
	const char *known;

	for (unsigned i = 0; (known = runtime_name(i)); i++)
		if (!strcmp(name, known))
			return 1u << i;
	return 0;
}

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

int resolver_new(const struct world *world, struct resolver **ret)
{
	_cleanup_(resolver_freep) struct resolver *resolver =
		calloc(1, sizeof(*resolver));
	struct view *view;

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
	registry_init(&resolver->registry, runtimes, view);
	resolver_remap(resolver);
	*ret = take(resolver);
	return 0;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	registry_done(&resolver->registry);
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
	for (size_t i = 0; runtimes[i]; i++)
		if (resolver->registry.entry[i].open && runtimes[i]->epoch)
			runtimes[i]->epoch(resolver->registry.entry[i].state);
}

void resolver_remap(struct resolver *resolver)
{
	const struct world *world = resolver->view.world;

	pages_forget(resolver->view.pages);
	heap_remap(resolver->view.heap, world->maps, world->symbols);
	registry_remap(&resolver->registry);
}

bool resolver_found(struct resolver *resolver, struct runtime_info *ret)
{
	return registry_found(&resolver->registry, ret);
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
	struct registry *registry = &resolver->registry;
	struct component component;
	size_t best = 0;

	registry_look(registry);
	clear(ret);
	for (size_t i = 0; runtimes[i]; i++) {
		if (!registry->entry[i].open)
			continue;
		clear(&component);
		runtimes[i]->resolve(registry->entry[i].state, query,
				     &component);
		if (!is_better(&component, ret))
			continue;
		copy(ret, &component);
		best = i;
		if (ret->confidence == CONFIDENCE_EXACT)
			break;
	}
	if (ret->kind) {
		registry_named(registry, best);
		return;
	}
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

	registry_look(&resolver->registry);
	for (size_t i = 0; runtimes[i]; i++) {
		const struct entry *entry = &resolver->registry.entry[i];
		int r = 0;

		if (entry->open && runtimes[i]->each)
			r = runtimes[i]->each(entry->state, &scan);
		if (r != 0)
			return r;
	}
	return 0;
}

int resolver_classes(struct resolver *resolver,
		     int (*visit)(void *context, const char *name),
		     void *context)
{
	registry_look(&resolver->registry);
	for (size_t i = 0; runtimes[i]; i++) {
		const struct entry *entry = &resolver->registry.entry[i];
		int r = 0;

		if (entry->open && runtimes[i]->classes)
			r = runtimes[i]->classes(entry->state, visit, context);
		if (r != 0)
			return r;
	}
	return 0;
}

bool resolver_grows(struct resolver *resolver)
{
	registry_look(&resolver->registry);
	for (size_t i = 0; runtimes[i]; i++)
		if (resolver->registry.entry[i].open && runtimes[i]->grows)
			return true;
	return false;
}

bool resolver_has_frames(struct resolver *resolver)
{
	registry_look(&resolver->registry);
	for (size_t i = 0; runtimes[i]; i++)
		if (resolver->registry.entry[i].open && runtimes[i]->frames)
			return true;
	return false;
}

/* A process rarely has two such runtimes: the first that knows of any. */
bool resolver_frames(struct resolver *resolver, const struct stack_query *query,
		     struct managed *managed)
{
	for (size_t i = 0; runtimes[i]; i++) {
		const struct entry *entry = &resolver->registry.entry[i];

		if (entry->open && runtimes[i]->frames &&
		    runtimes[i]->frames(entry->state, query, managed) == 0)
			return true;
	}
	return false;
}

bool resolver_code(struct resolver *resolver, struct code *ret)
{
	registry_look(&resolver->registry);
	for (size_t i = 0; runtimes[i]; i++) {
		const struct entry *entry = &resolver->registry.entry[i];

		if (entry->open && runtimes[i]->code &&
		    runtimes[i]->code(entry->state, ret))
			return true;
	}
	return false;
}

size_t resolver_member(struct resolver *resolver,
		       const struct component *object, const char *path,
		       struct extent *ret, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; !count && runtimes[i]; i++) {
		const struct entry *entry = &resolver->registry.entry[i];

		if (entry->open && runtimes[i]->member)
			count = runtimes[i]->member(entry->state, object, path,
						    ret, max);
	}
	return count;
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
