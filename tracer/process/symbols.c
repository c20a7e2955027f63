/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "tracer/process/demangle.h"
#include "tracer/process/modules.h"

int symbols_at(struct symbols *symbols, uint64_t addr, struct symbol *ret)
{
	struct stretch *recent = &symbols->recent[addr / PAGE % STRETCHES];
	const struct module *module;
	const struct elf_table *table;
	const struct elf_entry *entry;

	/* A program stays where it is for a while. */
	if (addr - recent->start < recent->size) {
		*ret = recent->symbol;
		return 0;
	}
	module = symbols_module(symbols, addr);
	if (!module)
		return -ENOENT;
	table = image_table(module_image(module));
	entry = elf_table_at(table, addr - module->bias);
	if (!entry)
		return -ENOENT;
	*ret = module_symbol(module, entry);
	*recent = (struct stretch){
		.start = ret->addr,
		.size = min_u64(elf_table_stretch(table, entry) - entry->addr,
				module->end - ret->addr),
		.symbol = *ret,
	};
	return 0;
}

size_t symbols_lines(struct symbols *symbols, uint64_t addr, struct line *ret,
		     size_t max)
{
	const struct module *module = symbols_module(symbols, addr);
	struct lines *lines = module ? image_lines(module_image(module)) : NULL;

	return lines ? lines_at(lines, addr - module->bias, ret, max) : 0;
}

int symbols_each(struct symbols *symbols, const char *prefix,
		 int (*visit)(void *context, const struct symbol *symbol),
		 void *context)
{
	size_t size = strlen(prefix);

	for (size_t i = 0; i < symbols->count; i++) {
		const struct module *module = symbols->modules[i];
		const struct elf_table *table =
			image_table(module_image(module));

		for (size_t k = 0; k < table->count; k++) {
			struct symbol symbol;
			int r;

			if (strncmp(table->entry[k].name, prefix, size) != 0)
				continue;
			symbol = module_symbol(module, &table->entry[k]);
			r = visit(context, &symbol);
			if (r != 0)
				return r;
		}
	}
	return 0;
}

struct found {
	struct symbol *symbol;
	size_t count, max;
	uint64_t last;
};

/* Aliases and the two tables of a file give one address more than once. */
static void add(struct found *found, const struct symbol *symbol)
{
	for (size_t i = 0; i < found->count && i < found->max; i++)
		if (found->symbol[i].addr == symbol->addr)
			return;
	if (found->count && found->last == symbol->addr)
		return;
	if (found->count < found->max)
		found->symbol[found->count] = *symbol;
	found->last = symbol->addr;
	found->count++;
}

/* "libfoo" stands for libfoo.so.1 and libfoo-2.36.so. */
static bool is_library(const struct module *module, const char *library)
{
	size_t size;

	if (!library)
		return true;
	size = strlen(library);
	return !strncmp(module->name, library, size) &&
	       strchr(".-", module->name[size]);
}

static void find_mangled(const struct module *module, const char *name,
			 struct found *found)
{
	struct image *image = module_image(module);
	uint32_t position = 0;
	ssize_t index;

	while ((index = image_named(image, name, &position)) >= 0) {
		struct symbol symbol =
			module_symbol(module, &image->table.entry[index]);

		add(found, &symbol);
	}
}

/* Names that the ABI abbreviates ("Sa"), so that they need not be spelled. */
static bool is_abbreviated(const char *word)
{
	static const char *const coded[] = {
		"std",	   "allocator", "basic_string", "string",
		"istream", "ostream",	"iostream",
	};

	for (size_t i = 0; i < ARRAY_SIZE(coded); i++)
		if (!strcmp(word, coded[i]))
			return true;
	return false;
}

/*
 * The identifier that @name ends in: a mangled name spells it out as well,
 * so that few names must be demangled.  "" if there is none: any may fit.
 */
static void spelled(const char *name, char *word, size_t room)
{
	const char *end = name + strlen(name), *start = end;
	const char *last = strrchr(name, ')');

	while (start > name &&
	       (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
		start--;
	snprintf(word, room, "%s", start);
	/* f() const, operator new */
	if ((last && last[1] != ':') || strstr(name, "operator") ||
	    is_abbreviated(word))
		*word = '\0';
}

static bool is_named(const char *mangled, const char *name)
{
	_cleanup_(freep) char *text = demangle(mangled);
	_cleanup_(freep) char *brief = NULL;

	if (!text)
		return false;
	if (!strcmp(text, name))
		return true;
	brief = demangle_short(mangled);
	return brief && !strcmp(brief, name);
}

static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static void find_demangled(const struct module *module, const char *name,
			   const char *word, struct found *found)
{
	const struct elf_table *table = image_table(module_image(module));

	for (size_t i = 0; i < table->count; i++) {
		const struct elf_entry *entry = &table->entry[i];
		struct symbol symbol;

		if (!is_mangled(entry->name) || !strstr(entry->name, word) ||
		    !is_named(entry->name, name))
			continue;
		symbol = module_symbol(module, entry);
		add(found, &symbol);
	}
}

size_t symbols_named(struct symbols *symbols, const char *library,
		     const char *name, struct symbol *ret, size_t max)
{
	struct found found = { .symbol = ret, .max = max };
	char word[256];

	for (size_t i = 0; i < symbols->count; i++)
		if (is_library(symbols->modules[i], library))
			find_mangled(symbols->modules[i], name, &found);
	if (found.count)
		return found.count;
	spelled(name, word, sizeof(word));
	for (size_t i = 0; i < symbols->count; i++)
		if (is_library(symbols->modules[i], library))
			find_demangled(symbols->modules[i], name, word, &found);
	return found.count;
}
