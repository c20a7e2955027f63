/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/registry.h"

const struct module *view_module(const struct view *view, const char *library)
{
	const struct module *const *module;
	size_t count = symbols_modules(view->world->symbols, &module);
	size_t length = strlen(library);

	for (size_t i = 0; i < count; i++) {
		const char *name = module[i]->name;

		if (!strncmp(name, library, length) &&
		    (!name[length] || strchr(".-", name[length])))
			return module[i];
	}
	return NULL;
}

void registry_init(struct registry *registry,
		   const struct runtime *const *table, const struct view *view)
{
	*registry = (struct registry){ .table = table, .view = view };
}

static void close_entry(struct registry *registry, size_t i)
{
	struct entry *entry = &registry->entry[i];

	if (entry->open)
		registry->table[i]->close(entry->state);
	entry->open = false;
	entry->state = NULL;
}

void registry_done(struct registry *registry)
{
	for (size_t i = 0; registry->table && registry->table[i]; i++)
		close_entry(registry, i);
}

static bool is_loaded(const struct view *view, const struct module *module)
{
	return symbols_module(view->world->symbols, module->start) == module;
}

static void tell(struct registry *registry, struct entry *entry)
{
	if (entry->told)
		return;
	entry->told = entry->news = registry->news = true;
}

/* What is always there is never told; what only objects show, later. */
static void describe(struct registry *registry, size_t i)
{
	const struct runtime *runtime = registry->table[i];
	struct entry *entry = &registry->entry[i];
	struct runtime_info info = { .name = runtime->name };

	if (!runtime->about)
		return;
	runtime->about(entry->state, &info);
	/* The same again, tried anew because some other module came? */
	if (info.module != entry->info.module ||
	    strcmp(info.reason, entry->info.reason) != 0)
		entry->told = false;
	entry->info = info;
	if (info.module || info.reason[0])
		tell(registry, entry);
	if (info.reason[0])
		close_entry(registry, i);
}

static bool is_chosen(const struct registry *registry, size_t i)
{
	unsigned chosen = registry->view->world->runtimes;

	return !chosen || !registry->table[i]->about ||
	       (chosen & runtime_bit(registry->table[i]->name));
}

static void open_entry(struct registry *registry, size_t i)
{
	const struct runtime *runtime = registry->table[i];
	struct entry *entry = &registry->entry[i];
	int r;

	if (!is_chosen(registry, i))
		return;
	if (entry->open) {
		/* One that works without a module: has its module come? */
		if (!entry->info.module)
			describe(registry, i);
		return;
	}
	r = runtime->open(registry->view, &entry->state);
	/* Out of memory: perhaps there is some later. */
	entry->later = r < 0 && r != -ENOENT;
	if (r < 0)
		return;
	entry->open = true;
	if (runtime->remap)
		runtime->remap(entry->state);
	describe(registry, i);
}

/* One that comes back is found again, and told again. */
static void drop_unloaded(struct registry *registry, size_t i)
{
	struct entry *entry = &registry->entry[i];

	if (!entry->info.module ||
	    is_loaded(registry->view, entry->info.module))
		return;
	close_entry(registry, i);
	entry->told = entry->named = entry->news = false;
	entry->info.module = NULL;
}

void registry_look(struct registry *registry)
{
	unsigned generation =
		symbols_generation(registry->view->world->symbols);

	if (registry->looked)
		return;
	for (size_t i = 0; registry->table[i]; i++) {
		drop_unloaded(registry, i);
		if (registry->entry[i].later ||
		    registry->generation != generation + 1)
			open_entry(registry, i);
	}
	/* One more, so that 0 is of no modules at all. */
	registry->generation = generation + 1;
	registry->looked = true;
}

void registry_remap(struct registry *registry)
{
	registry->looked = false;
	for (size_t i = 0; registry->table[i]; i++) {
		drop_unloaded(registry, i);
		if (registry->entry[i].open && registry->table[i]->remap)
			registry->table[i]->remap(registry->entry[i].state);
	}
}

void registry_named(struct registry *registry, size_t i)
{
	struct entry *entry = &registry->entry[i];

	if (entry->named)
		return;
	entry->named = true;
	if (registry->table[i]->about)
		tell(registry, entry);
}

bool registry_found(struct registry *registry, struct runtime_info *ret)
{
	registry_look(registry);
	if (!registry->news)
		return false;
	for (size_t i = 0; registry->table[i]; i++) {
		struct entry *entry = &registry->entry[i];

		if (!entry->news)
			continue;
		entry->news = false;
		*ret = entry->info;
		return true;
	}
	registry->news = false;
	return false;
}
