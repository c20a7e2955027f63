/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/process/modules.h"

/* count.0 and main.count are C's, _ZZ C++'s. */
static bool may_be_local(const char *name)
{
	return strchr(name, '.') || !strncmp(name, "_ZZ", 3);
}

struct type *symbols_type(struct symbols *symbols, const struct symbol *symbol)
{
	const struct module *module = symbol->module;
	struct types *types = image_types(module_image(module));
	struct variable variable;

	if (!types || symbol->function ||
	    !types_variable(types, symbol->addr - module->bias, false,
			    may_be_local(symbol->name), &variable))
		return NULL;
	return variable.type;
}

bool symbols_local(struct symbols *symbols, uint64_t addr, int64_t offset,
		   struct local *ret)
{
	const struct module *module = symbols_module(symbols, addr);
	struct types *types = module ? image_types(module_image(module)) : NULL;

	return types && locals_at(types, addr - module->bias, offset, ret);
}

struct type *symbols_class(struct symbols *symbols, uint64_t addr,
			   const char *name)
{
	const struct module *const module[] = {
		symbols_module(symbols, addr),
		symbols->count ? symbols->modules[0] : NULL,
	};
	struct type *type = NULL;

	for (size_t i = 0; !type && i < ARRAY_SIZE(module); i++) {
		struct types *types =
			module[i] ? image_types(module_image(module[i])) : NULL;

		if (types && (!i || module[i] != module[0]))
			type = types_class(types, name);
	}
	return type;
}

int symbols_thread(const struct module *module, uint64_t offset,
		   struct symbol *ret)
{
	const struct elf_table *table = image_table(module_image(module));

	/* There are few. */
	for (size_t i = 0; i < table->threads; i++) {
		const struct elf_entry *entry = &table->thread[i];

		if (offset < entry->addr || offset - entry->addr >= entry->size)
			continue;
		*ret = (struct symbol){ entry->name, entry->addr, entry->size,
					false, module };
		return 0;
	}
	return -ENOENT;
}

uint64_t symbols_thread_size(const struct module *module, uint64_t *align)
{
	const struct elf_layout *layout = &module_image(module)->layout;

	*align = layout->tls_align ? layout->tls_align : 1;
	return layout->tls_size;
}

struct type *symbols_thread_type(const struct symbol *symbol)
{
	struct types *types = image_types(module_image(symbol->module));
	struct variable variable;

	if (!types || !types_variable(types, symbol->addr, true,
				      may_be_local(symbol->name), &variable))
		return NULL;
	return variable.type;
}

struct shifted {
	uint64_t bias;
	int (*visit)(void *context, const struct variable *variable);
	void *context;
};

static int visit_shifted(void *context, const struct variable *variable)
{
	const struct shifted *shifted = context;
	struct variable moved = { variable->addr + shifted->bias,
				  variable->type };

	return shifted->visit(shifted->context, &moved);
}

int symbols_variables(struct symbols *symbols,
		      int (*visit)(void *context,
				   const struct variable *variable),
		      void *context)
{
	const struct module *program =
		symbols->count ? symbols->modules[0] : NULL;
	struct types *types =
		program ? image_types(module_image(program)) : NULL;
	struct shifted shifted = { program ? program->bias : 0, visit,
				   context };

	return types ? types_variables(types, visit_shifted, &shifted) : 0;
}
