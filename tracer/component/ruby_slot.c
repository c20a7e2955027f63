/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "tracer/component/ruby.h"

enum {
	MAX_PAGES = 1 << 20,
	MAX_SLOTS = RUBY_PAGE / RUBY_SLOT,
	STALE = 64, /* stops after which a page is looked at again */
};

/* struct heap_page: shorts slot_size, total_slots ...; "start" is word 4 */
enum { PAGE_SIZES = 0, PAGE_START = 4, PAGE_WORDS };

static void look_at(struct ruby *ruby, uint64_t addr, struct ruby_page *page)
{
	struct pages *pages = ruby->view->pages;
	uint64_t at, word[PAGE_WORDS], start;
	unsigned size, slots;

	page->start = 0;
	if (!pages_words(pages, addr, &at, 1) || !at || at % 8 ||
	    !pages_words(pages, at, word, PAGE_WORDS))
		return;
	size = word[PAGE_SIZES] & 0xffff;
	slots = word[PAGE_SIZES] >> 16 & 0xffff;
	start = word[PAGE_START];
	if (size != RUBY_SLOT || !slots || slots > MAX_SLOTS || start <= addr ||
	    start - addr > 2 * RUBY_SLOT ||
	    start + UINT64_C(40) * slots > addr + RUBY_PAGE)
		return;
	page->start = start;
	page->slots = slots;
}

struct ruby_page *ruby_page(struct ruby *ruby, uint64_t addr)
{
	uint64_t at = addr & ~(uint64_t)(RUBY_PAGE - 1);
	struct ruby_page *page = table_get(&ruby->pages, at);

	if (page && ruby->epoch - page->epoch <= STALE)
		return page->start ? page : NULL;
	if (!page) {
		if (ruby->pages.count >= MAX_PAGES)
			return NULL;
		page = calloc(1, sizeof(*page));
		if (!page)
			return NULL;
		if (table_put(&ruby->pages, at, page) < 0) {
			free(page);
			return NULL;
		}
	}
	page->epoch = ruby->epoch;
	look_at(ruby, at, page);
	return page->start ? page : NULL;
}

/* include/ruby/internal/value_type.h, and imemo_type of internal/imemo.h */
static const char *type_name(uint64_t flags)
{
	static const char *const type[] = {
		[RUBY_OBJECT] = "object",
		[RUBY_CLASS] = "class",
		[RUBY_MODULE] = "module",
		[4] = "float",
		[RUBY_STRING] = "string",
		[6] = "regexp",
		[RUBY_ARRAY] = "array",
		[RUBY_HASH] = "hash",
		[RUBY_STRUCT] = "struct",
		[0xa] = "bignum",
		[0xb] = "file",
		[RUBY_DATA] = "data",
		[0xd] = "match",
		[0xe] = "complex",
		[RUBY_RATIONAL] = "rational",
		[RUBY_SYMBOL] = "symbol",
		[RUBY_NODE] = "node",
		[RUBY_ICLASS] = "iclass",
	};
	static const char *const memo[] = {
		"env",	   "cref",     "svar",	    "throw_data", "ifunc",
		"memo",	   "ment",     "iseq",	    "tmpbuf",	  "ast",
		"strterm", "callinfo", "callcache", "constcache",
	};
	unsigned number = flags / RUBY_USER(0) & 0xf;

	if (ruby_type(flags) == RUBY_IMEMO)
		return number < ARRAY_SIZE(memo) ? memo[number] : NULL;
	return ruby_type(flags) < ARRAY_SIZE(type) ? type[ruby_type(flags)]
						   : NULL;
}

static bool has_class(uint64_t flags, uint64_t class)
{
	unsigned type = ruby_type(flags);

	return class && (type <= RUBY_RATIONAL || type == RUBY_SYMBOL);
}

static bool read_object(struct ruby *ruby, uint64_t addr,
			struct ruby_object *ret)
{
	const char *type;
	uint64_t word[2];

	if (!pages_words(ruby->view->pages, addr, word, 2) ||
	    ruby_type(word[0]) == RUBY_NONE)
		return false;
	*ret = (struct ruby_object){ .addr = addr, .flags = word[0] };
	if (has_class(word[0], word[1])) {
		ret->class = ruby_class(ruby, word[1]);
		return ret->class != NULL;
	}
	type = type_name(word[0]);
	if (type)
		snprintf(ret->internal, sizeof(ret->internal), "<internal %s>",
			 type);
	return type != NULL;
}

bool ruby_at(struct ruby *ruby, uint64_t addr, struct ruby_object *ret)
{
	const struct ruby_page *page = ruby_page(ruby, addr);
	uint64_t slot;

	if (!page || addr < page->start)
		return false;
	slot = (addr - page->start) / RUBY_SLOT;
	return slot < page->slots &&
	       read_object(ruby, page->start + slot * RUBY_SLOT, ret);
}

const char *ruby_name(const struct ruby_object *object)
{
	return object->class ? object->class->path : object->internal;
}

void ruby_describe(const struct ruby_object *object, struct component *ret)
{
	ret->kind = "object";
	ret->runtime = "ruby";
	ret->how = "slot";
	/* What is internal has a type in its flags alone. */
	ret->confidence = object->class ? CONFIDENCE_EXACT : CONFIDENCE_LIKELY;
	ret->start = object->addr;
	ret->size = RUBY_SLOT;
	component_name(ret, ruby_name(object));
}

/* Every object of the pages in [start, end). */
static int each_object(struct ruby *ruby, uint64_t start, uint64_t end,
		       int (*visit)(struct ruby *ruby,
				    const struct ruby_object *object,
				    void *context),
		       void *context)
{
	struct ruby_object object;
	int r = 0;

	for (uint64_t at = start & ~(uint64_t)(RUBY_PAGE - 1); at < end && !r;
	     at += RUBY_PAGE) {
		const struct ruby_page *page = ruby_page(ruby, at);
		uint64_t first = page ? page->start : 0;
		unsigned slots = page ? page->slots : 0;

		for (unsigned i = 0; i < slots && !r; i++) {
			uint64_t addr = first + UINT64_C(40) * i;

			if (addr >= start && addr < end &&
			    read_object(ruby, addr, &object))
				r = visit(ruby, &object, context);
		}
	}
	return r;
}

/* Of what cannot hold objects not even the first words are looked at. */
static int each_in_maps(struct ruby *ruby, uint64_t start, uint64_t end,
			int (*visit)(struct ruby *ruby,
				     const struct ruby_object *object,
				     void *context),
			void *context)
{
	const struct maps *maps = ruby->view->world->maps;
	const struct mapping *m = maps_above(maps, start);
	int r = 0;

	for (; r == 0 && m && m < maps->mapping + maps->count; m++) {
		if (m->start >= end)
			break;
		if (!m->inode && !m->shared)
			r = each_object(ruby, max_u64(m->start, start),
					min_u64(m->end, end), visit, context);
	}
	return r;
}

static bool matches(struct ruby *ruby, const struct ruby_object *object,
		    const char *glob)
{
	struct ruby_class *class = object->class;

	if (!class)
		return !fnmatch(glob, object->internal, 0);
	if (class->scan != ruby->scan) {
		class->scan = ruby->scan;
		class->match = !fnmatch(glob, class->path, 0);
	}
	return class->match;
}

static int tell_object(struct ruby *ruby, const struct ruby_object *object,
		       void *context)
{
	const struct scan *scan = context;
	struct component component = { 0 };

	if (!matches(ruby, object, scan->class))
		return 0;
	ruby_describe(object, &component);
	return scan->visit(scan->context, &component);
}

int ruby_each(void *state, const struct scan *scan)
{
	struct ruby *ruby = state;

	ruby->scan++;
	return each_in_maps(ruby, scan->start, scan->end, tell_object,
			    (void *)scan);
}

struct names {
	int (*visit)(void *context, const char *name);
	void *context;
};

static int tell_class(struct ruby *ruby, const struct ruby_object *object,
		      void *context)
{
	struct names *names = context;
	_cleanup_(freep) char *path = NULL;

	if (ruby_type(object->flags) != RUBY_CLASS ||
	    (object->flags & RUBY_USER(0)))
		return 0;
	path = ruby_path(ruby, object->addr);
	return path ? names->visit(names->context, path) : 0;
}

int ruby_classes(void *state, int (*visit)(void *context, const char *name),
		 void *context)
{
	struct names names = { visit, context };

	return each_in_maps(state, 0, UINT64_MAX, tell_class, &names);
}
