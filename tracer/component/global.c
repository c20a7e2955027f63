/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/typed.h"
#include "tracer/process/demangle.h"

enum { KNOWN = 256 };

/* What was found for a symbol before. */
struct known {
	uint64_t addr; /* of the symbol; 0: nothing */
	struct type *type;
};

struct global {
	const struct view *view;
	unsigned generation; /* of the symbols */
	struct known known[KNOWN];
};

static int open_global(const struct view *view, void **ret)
{
	struct global *global = calloc(1, sizeof(*global));

	if (!global)
		return -ENOMEM;
	global->view = view;
	*ret = global;
	return 0;
}

static struct type *type_of(struct global *global, const struct symbol *symbol)
{
	struct known *known = &global->known[symbol->addr / 8 % KNOWN];

	if (known->addr != symbol->addr) {
		known->type =
			symbols_type(global->view->world->symbols, symbol);
		known->addr = symbol->addr;
	}
	return known->type;
}

/* A variable or function of a module. */
static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	struct global *global = state;
	_cleanup_(freep) char *text = NULL;
	struct symbol symbol;
	struct type *type;

	if (symbols_at(global->view->world->symbols, query->addr, &symbol) < 0)
		return;
	ret->kind = symbol.function ? "code" : "global";
	ret->runtime = "c";
	ret->how = "symbol";
	ret->confidence = symbol.size ? CONFIDENCE_EXACT : CONFIDENCE_LIKELY;
	ret->start = symbol.addr;
	ret->size = symbol.size;
	text = demangle(symbol.name);
	component_name(ret, text ? text : symbol.name);
	type = symbol.function ? NULL : type_of(global, &symbol);
	if (type)
		typed_member(global->view->pages, type, symbol.addr,
			     query->addr, ret);
}

static void remap(void *state)
{
	struct global *global = state;
	unsigned generation = symbols_generation(global->view->world->symbols);

	if (generation == global->generation)
		return;
	global->generation = generation;
	memset(global->known, 0, sizeof(global->known));
}

const struct runtime runtime_global = {
	.name = "global",
	.open = open_global,
	.close = free,
	.resolve = resolve,
	.remap = remap,
};
