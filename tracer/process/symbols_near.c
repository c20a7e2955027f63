/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/demangle.h"
#include "tracer/process/modules.h"
#include "tracer/process/name_distance.h"

struct nearest {
	const char *name;
	struct symbol *symbol;
	unsigned *distance;
	size_t count, max;
};

static void insert(struct nearest *nearest, const struct symbol *symbol,
		   unsigned far)
{
	size_t at = nearest->count;

	for (size_t i = 0; i < nearest->count; i++)
		if (nearest->symbol[i].addr == symbol->addr)
			return;
	while (at && nearest->distance[at - 1] > far)
		at--;
	if (at == nearest->max)
		return;
	if (nearest->count < nearest->max)
		nearest->count++;
	for (size_t i = nearest->count - 1; i > at; i--) {
		nearest->symbol[i] = nearest->symbol[i - 1];
		nearest->distance[i] = nearest->distance[i - 1];
	}
	nearest->symbol[at] = *symbol;
	nearest->distance[at] = far;
}

/* Vtables and the like are data that nobody asks for by name. */
static bool is_coded(const char *name)
{
	return !strncmp(name, "_ZT", 3) || !strncmp(name, "_ZG", 3);
}

static int consider(void *context, const struct symbol *symbol)
{
	struct nearest *nearest = context;
	_cleanup_(freep) char *text = NULL;
	unsigned far;

	if (symbol->function || is_coded(symbol->name))
		return 0;
	text = demangle(symbol->name);
	far = name_distance(nearest->name, text ? text : symbol->name);
	if (far != NAME_FAR)
		insert(nearest, symbol, far);
	return 0;
}

size_t symbols_near(struct symbols *symbols, const char *name,
		    struct symbol *ret, size_t max)
{
	_cleanup_(freep) unsigned *far = calloc(max ? max : 1, sizeof(*far));
	struct nearest nearest = { name, ret, far, 0, max };

	if (!far || !max)
		return 0;
	symbols_each(symbols, "", consider, &nearest);
	return nearest.count;
}
