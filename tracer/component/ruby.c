/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/ruby.h"

#define EMBEDDED RUBY_USER(1) /* of objects and arrays; strings: not */

/* Words that have a name in every object of the type; NULL: see below. */
static const char *word_name(uint64_t flags, unsigned word)
{
	static const struct {
		unsigned type;
		const char *name[3];
	} known[] = {
		{ RUBY_STRING, { "len", "ptr", "capa" } },
		{ RUBY_ARRAY, { "len", "capa", "ptr" } },
		{ RUBY_HASH, { "table", "iter_lev", "default" } },
		{ RUBY_CLASS, { "super", "extension", "serial" } },
		{ RUBY_MODULE, { "super", "extension", "serial" } },
		{ RUBY_DATA, { "type", "typed", "data" } },
		{ RUBY_OBJECT, { "numiv", "ivptr", "iv_index_tbl" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].type == ruby_type(flags))
			return known[i].name[word - 2];
	return NULL;
}

/* What lies in the slot itself instead of in a block of its own. */
static bool tell_embedded(struct ruby *ruby, const struct ruby_object *object,
			  unsigned offset, struct component *ret)
{
	unsigned index = (offset - 16) / 8;
	const char *name;

	switch (ruby_type(object->flags)) {
	case RUBY_STRING:
		if (object->flags & EMBEDDED)
			return false;
		snprintf(ret->member, sizeof(ret->member), "[%u]", offset - 16);
		return true;
	case RUBY_ARRAY:
		if (!(object->flags & EMBEDDED))
			return false;
		snprintf(ret->member, sizeof(ret->member), "[%u]", index);
		return true;
	case RUBY_OBJECT:
		if (!(object->flags & EMBEDDED) || !object->class)
			return false;
		name = ruby_variable(ruby, object->class, index);
		if (name)
			snprintf(ret->member, sizeof(ret->member), "%.150s",
				 name);
		return true;
	default:
		return false;
	}
}

static void tell_member(struct ruby *ruby, const struct ruby_object *object,
			uint64_t addr, struct component *ret)
{
	unsigned offset = (unsigned)(addr - object->addr);
	const char *name;

	if (offset < 16) {
		snprintf(ret->member, sizeof(ret->member),
			 offset < 8 ? "flags" : "klass");
		return;
	}
	if (tell_embedded(ruby, object, offset, ret))
		return;
	name = word_name(object->flags, offset / 8);
	if (name)
		snprintf(ret->member, sizeof(ret->member), "%s", name);
}

static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	struct ruby *ruby = state;
	struct ruby_object object;

	if (view_on_stack(ruby->view, query) ||
	    !ruby_at(ruby, query->addr, &object))
		return;
	ruby_describe(&object, ret);
	/* The class that a store will make of it is not known. */
	if (query->write && query->addr - object.addr < 16)
		ret->confidence = CONFIDENCE_LIKELY;
	tell_member(ruby, &object, query->addr, ret);
}

static void about(void *state, struct runtime_info *ret)
{
	struct ruby *ruby = state;

	ret->module = ruby->module;
	ret->tells = TELLS_CLASSES | TELLS_OBJECTS;
	if (ruby->symbols)
		ret->tells |= TELLS_MEMBERS;
	snprintf(ret->version, sizeof(ret->version), "%s", ruby->version);
	if (!ruby->supported)
		snprintf(ret->reason, sizeof(ret->reason),
			 "only the objects of Ruby 3.1 are known");
}

static void close_ruby(void *state)
{
	struct ruby *ruby = state;

	ruby_forget(ruby);
	free(ruby);
}

static int open_ruby(const struct view *view, void **ret)
{
	const struct module *module = view_module(view, "libruby");
	struct ruby *ruby;

	/* A program that has it inside is called ruby, ruby3.1 ... */
	if (!module)
		module = view_module(view, "ruby");
	if (!module)
		return -ENOENT;
	ruby = calloc(1, sizeof(*ruby));
	if (!ruby)
		return -ENOMEM;
	ruby->view = view;
	ruby->module = module;
	ruby_locate(ruby);
	if (!ruby->version[0]) {
		/* Somebody else's program of that name. */
		free(ruby);
		return -ENOENT;
	}
	*ret = ruby;
	return 0;
}

static void epoch(void *state)
{
	struct ruby *ruby = state;

	ruby->epoch++;
	if (ruby_is_full(ruby))
		ruby_forget(ruby);
}

/* Pages come and go with mappings. */
static void remap(void *state)
{
	struct ruby *ruby = state;

	table_for_each(&ruby->pages, s)
	{
		struct ruby_page *page = s->value;

		page->epoch = ruby->epoch - (1u << 30);
	}
}

const struct runtime runtime_ruby = {
	.name = "ruby",
	.open = open_ruby,
	.close = close_ruby,
	.about = about,
	.resolve = resolve,
	.epoch = epoch,
	.remap = remap,
	.each = ruby_each,
	.classes = ruby_classes,
};
