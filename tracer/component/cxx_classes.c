/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/cxx.h"
#include "tracer/process/demangle.h"
#include "tracer/process/spelling.h"

/* Of a module what is searched, if it has no constants with classes. */
#define MAX_MODULE (UINT64_C(256) << 20)

struct names {
	char **name;
	size_t count, capacity;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->name[i]);
	free(names->name);
}

/* Takes over @name. */
static int names_add(struct names *names, char *name)
{
	if (names->count == names->capacity) {
		size_t n = names->capacity ? 2 * names->capacity : 256;
		char **bigger = reallocarray(names->name, n, sizeof(*bigger));

		if (!bigger) {
			free(name);
			return -ENOMEM;
		}
		names->name = bigger;
		names->capacity = n;
	}
	names->name[names->count++] = name;
	return 0;
}

struct gather {
	struct cxx *cxx;
	struct names names;
};

static int gather_symbol(void *context, const struct symbol *symbol)
{
	static const char prefix[] = "vtable for ";
	struct gather *gather = context;
	_cleanup_(freep) char *text = demangle(symbol->name);
	char *plain;

	if (!text || strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	plain = spelling_plain(text + sizeof(prefix) - 1);
	return plain ? names_add(&gather->names, plain) : -ENOMEM;
}

/*
 * A vtable begins with an offset to top, 0 or negative, and the address of a
 * type_info.
 */
static int gather_range(struct gather *gather, uint64_t start, uint64_t end)
{
	struct pages *pages = gather->cxx->view->pages;

	for (uint64_t addr = start & ~UINT64_C(7); addr + 16 <= end;
	     addr += 8) {
		uint64_t head[2];
		char *name;
		int r;

		if (!pages_words(pages, addr, head, 2)) {
			addr = page_down(addr) + PAGE - 8;
			continue;
		}
		if ((int64_t)head[0] > 0 || head[0] % 8 ||
		    !vtables_plausible(gather->cxx->vtables, head[1]))
			continue;
		name = vtables_type(gather->cxx->vtables, head[1]);
		r = name ? names_add(&gather->names, name) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Vtables that need relocation lie among the constants that are made read-only
 * afterwards; in a program that has its fixed place, anywhere.
 */
static int gather_module(struct gather *gather, const struct module *module)
{
	size_t before = gather->names.count;
	uint64_t end = min_u64(module->end, module->start + MAX_MODULE);
	int r = gather_range(gather, module->relro_start, module->relro_end);

	if (r < 0 || (gather->names.count > before && module->bias))
		return r;
	return gather_range(gather, module->start, end);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int gather_all(struct gather *gather)
{
	struct symbols *symbols = gather->cxx->view->world->symbols;
	const struct module *const *module;
	size_t count = symbols_modules(symbols, &module);
	int r;

	r = symbols_each(symbols, "_ZTV", gather_symbol, gather);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = gather_module(gather, module[i]);
	return r;
}

int cxx_classes(void *state, int (*visit)(void *context, const char *name),
		void *context)
{
	struct gather gather = { .cxx = state };
	struct names *names = &gather.names;
	int r = gather_all(&gather);

	if (names->count)
		qsort(names->name, names->count, sizeof(char *), compare);
	for (size_t i = 0; r == 0 && i < names->count; i++)
		if (!i || strcmp(names->name[i], names->name[i - 1]) != 0)
			r = visit(context, names->name[i]);
	names_done(names);
	return r;
}
