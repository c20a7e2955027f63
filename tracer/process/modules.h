/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * modules - which image lies where in the process
 *
 * The inside of struct symbols; for symbols.c, modules.c and symbols_near.c.
 */

#include "tracer/process/image.h"
#include "tracer/process/symbols.h"

struct place {
	struct module module; /* first: what the world sees */
	struct image *image;
	struct place *next;
	char *path, *name;
};

/* Where symbols_at() gives this symbol. */
struct stretch {
	uint64_t start, size;
	struct symbol symbol;
};

enum { STRETCHES = 16 };

/*
 * Images and places are never freed before the end: names and modules that
 * were given out stay valid, and a library that comes back to its old place
 * is the same module again.
 */
struct symbols {
	struct stretch recent[STRETCHES]; /* by page */
	struct images images;
	struct place *places;
	const struct module **modules; /* by address */
	size_t count;
	unsigned generation;
};

static inline struct image *module_image(const struct module *module)
{
	return ((const struct place *)module)->image;
}

/* What an entry of the module's table is in the process. */
static inline struct symbol module_symbol(const struct module *module,
					  const struct elf_entry *entry)
{
	return (struct symbol){ entry->name, module->bias + entry->addr,
				entry->size, entry->function, module };
}
