/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/gobject.h"
#include "tracer/component/text.h"

enum {
	FUNDAMENTALS = 256, /* GTypes below are numbers times 4 */
	MAX_TYPES = 65536,
	MAX_CLASSES = 1 << 18,
	MAX_NAME = 256,
	MAX_QUARK = 1 << 22,
	STALE = 256, /* stops after which a "no" is looked at again */
	CODE = 64,
};

/* struct _TypeNode of GLib 2.36 to 2.80, in words; supers[0] is the type. */
enum {
	NODE_COUNTS = 2, /* n_children, n_supers, and bits */
	NODE_CHILDREN,
	NODE_DATA,
	NODE_NAME,
	NODE_SUPERS = 9,
	NODE_WORDS = 11,
};
enum { IS_CLASSED = 1 << 17, IS_INSTANTIATABLE = 1 << 18 };

/* struct _InstanceData */
enum { DATA_CLASS = GTYPE_DATA_CLASS / 8, DATA_SIZES = 8, DATA_WORDS = 9 };

/* A class that is none, in the table: since when. */
struct no {
	struct gtype none; /* without a name */
	unsigned epoch;
};

struct node {
	uint64_t word[NODE_WORDS];
	uint32_t children, bits;
	uint8_t supers;
};

static bool read_node(struct gobject *gobject, uint64_t type, struct node *ret)
{
	struct pages *pages = gobject->view->pages;
	uint64_t addr = type & ~UINT64_C(3);

	if (type < FUNDAMENTALS * 4 &&
	    !pages_words(pages, gobject->nodes + type / 4 * 8, &addr, 1))
		return false;
	if (!addr || addr % 8 ||
	    !pages_words(pages, addr, ret->word, NODE_WORDS) ||
	    ret->word[NODE_SUPERS] != type)
		return false;
	ret->children = (uint32_t)ret->word[NODE_COUNTS];
	ret->bits = ret->word[NODE_COUNTS] >> 32;
	ret->supers = ret->bits & 0xff;
	return true;
}

static bool is_name(const char *text)
{
	for (; *text; text++)
		if (!((*text >= 'a' && *text <= 'z') ||
		      (*text >= 'A' && *text <= 'Z') ||
		      (*text >= '0' && *text <= '9') || strchr("_+-", *text)))
			return false;
	return true;
}

static bool read_name(struct gobject *gobject, const struct node *node,
		      char name[MAX_NAME])
{
	struct pages *pages = gobject->view->pages;
	uint32_t quark = (uint32_t)node->word[NODE_NAME];
	uint64_t quarks, string;

	return quark && quark < MAX_QUARK &&
	       pages_words(pages, gobject->quarks, &quarks, 1) &&
	       pages_words(pages, quarks + UINT64_C(8) * quark, &string, 1) &&
	       text_read(pages, string, name, MAX_NAME) && is_name(name);
}

static void add_to_filter(struct gobject *gobject, uint64_t class)
{
	uint64_t bit = class / 16 % GTYPE_FILTER;

	gobject->filter[bit / 8] |= 1 << bit % 8;
}

static struct gtype *add_type(struct gobject *gobject, const struct gtype *like,
			      const char *name)
{
	struct gtype *type = malloc(sizeof(*type));

	if (!type)
		return NULL;
	*type = *like;
	type->name = strdup(name);
	if (!type->name || table_put(&gobject->types, type->type, type) < 0) {
		free(type->name);
		free(type);
		return NULL;
	}
	add_to_filter(gobject, type->class);
	return type;
}

/* A type without parents is its own fundamental one: 80 is GObject. */
enum { G_TYPE_OBJECT = 80 };

/*
 * A type that has a class by now.  The parents are fewer with each step, so
 * it ends.
 */
static struct gtype *learn_type(struct gobject *gobject, uint64_t number,
				unsigned supers)
{
	struct gtype type = { .type = number,
			      .counted = number == G_TYPE_OBJECT };
	struct gtype *known = table_get(&gobject->types, number);
	uint64_t data[DATA_WORDS];
	struct node node;
	char name[MAX_NAME];

	if (known)
		return known;
	if (gobject->types.count >= MAX_TYPES ||
	    !read_node(gobject, number, &node) || node.supers > supers ||
	    !(node.bits & IS_CLASSED) || !(node.bits & IS_INSTANTIATABLE) ||
	    !pages_words(gobject->view->pages, node.word[NODE_DATA], data,
			 DATA_WORDS) ||
	    !data[DATA_CLASS] || !read_name(gobject, &node, name))
		return NULL;
	type.class = data[DATA_CLASS];
	type.data = node.word[NODE_DATA];
	type.size = data[DATA_SIZES] & 0xffff;
	type.private = ((data[DATA_SIZES] >> 16 & 0xffff) + 15) & ~15u;
	if (node.supers) {
		type.parent = learn_type(gobject, node.word[NODE_SUPERS + 1],
					 node.supers - 1u);
		if (!type.parent || type.parent->size > type.size ||
		    type.parent->private > type.private)
			return NULL;
		type.counted = type.parent->counted;
	}
	return type.size < 8 ? NULL : add_type(gobject, &type, name);
}

static struct gtype *look_at_class(struct gobject *gobject, uint64_t class)
{
	const struct mapping *m = maps_find(gobject->view->world->maps, class);
	struct gtype *type;
	uint64_t number;

	if (!m || m->inode || class % 8 ||
	    !pages_words(gobject->view->pages, class, &number, 1))
		return NULL;
	type = learn_type(gobject, number, UINT8_MAX);
	return type && type->class == class ? type : NULL;
}

static void free_no(struct gtype *type)
{
	if (!type->name)
		free(type);
}

static void forget_classes(struct gobject *gobject)
{
	table_for_each(&gobject->classes, s) free_no(s->value);
	table_done(&gobject->classes);
	gobject->classes = (struct table){ 0 };
}

void gobject_forget(struct gobject *gobject)
{
	forget_classes(gobject);
	table_for_each(&gobject->types, s)
	{
		struct gtype *type = s->value;

		free(type->name);
		free(type);
	}
	table_done(&gobject->types);
	gobject->types = (struct table){ 0 };
	memset(gobject->filter, 0, sizeof(gobject->filter));
	memset(gobject->recent, 0, sizeof(gobject->recent));
	gobject->pause = 0;
}

/* Most words that look like a class are none: they are remembered, too. */
static void remember_no(struct gobject *gobject, uint64_t class)
{
	struct no *no = calloc(1, sizeof(*no));

	if (!no)
		return;
	no->epoch = gobject->epoch;
	if (table_put(&gobject->classes, class, no) < 0)
		free(no);
}

struct gtype *gobject_class(struct gobject *gobject, uint64_t class)
{
	struct gtype *type = table_get(&gobject->classes, class);
	struct no *no = (struct no *)type;

	if (type && type->name)
		return type;
	if (no && gobject->epoch - no->epoch <= STALE)
		return NULL;
	type = look_at_class(gobject, class);
	if (no)
		no->epoch = gobject->epoch;
	if (!type) {
		if (gobject->classes.count >= MAX_CLASSES)
			forget_classes(gobject);
		else if (!no)
			remember_no(gobject, class);
		return NULL;
	}
	free(no);
	/* Without memory it is looked at again the next time. */
	if (table_put(&gobject->classes, class, type) < 0)
		table_remove(&gobject->classes, class);
	return type;
}

struct walk {
	struct gobject *gobject;
	uint64_t *list; /* GTypes to look at */
	size_t count, capacity;
	size_t seen;
};

static int walk_add(struct walk *walk, uint64_t type)
{
	if (walk->count == walk->capacity) {
		size_t capacity = 2 * walk->capacity + 256;
		uint64_t *list =
			reallocarray(walk->list, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		walk->list = list;
		walk->capacity = capacity;
	}
	walk->list[walk->count++] = type;
	return 0;
}

/* Each of its children must name it as parent, so nothing comes twice. */
static int walk_children(struct walk *walk, uint64_t type,
			 const struct node *node)
{
	struct pages *pages = walk->gobject->view->pages;
	struct node child;
	uint64_t number;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < node->children; i++) {
		if (walk->seen++ >= MAX_TYPES ||
		    !pages_words(pages,
				 node->word[NODE_CHILDREN] + UINT64_C(8) * i,
				 &number, 1))
			return 0;
		if (read_node(walk->gobject, number, &child) &&
		    child.word[NODE_SUPERS + 1] == type &&
		    child.supers == node->supers + 1)
			r = walk_add(walk, number);
	}
	return r;
}

int gobject_types(struct gobject *gobject,
		  int (*visit)(struct gobject *gobject, uint64_t type,
			       const char *name, void *context),
		  void *context)
{
	struct walk walk = { .gobject = gobject };
	char name[MAX_NAME];
	struct node node;
	int r = 0;

	for (uint64_t i = 1; r == 0 && i < FUNDAMENTALS; i++)
		r = walk_add(&walk, i * 4);
	while (r == 0 && walk.count) {
		uint64_t type = walk.list[--walk.count];

		if (!read_node(gobject, type, &node))
			continue;
		if ((node.bits & IS_INSTANTIATABLE) &&
		    read_name(gobject, &node, name))
			r = visit(gobject, type, name, context);
		if (r == 0)
			r = walk_children(&walk, type, &node);
	}
	free(walk.list);
	return r;
}

static int meet(struct gobject *gobject, uint64_t type, const char *name,
		void *context)
{
	struct gtype *known = learn_type(gobject, type, UINT8_MAX);

	if (known)
		gobject_class(gobject, known->class);
	return 0;
}

void gobject_walk(struct gobject *gobject)
{
	enum { LONGEST = 1 << 14 };
	size_t before = gobject->types.count;

	gobject_types(gobject, meet, NULL);
	gobject->walked = gobject->epoch;
	if (gobject->types.count > before)
		gobject->pause = STALE;
	else if (gobject->pause < LONGEST)
		gobject->pause = 2 * gobject->pause + 1;
}

/* Of the function's code, what an instruction names relative to itself. */
static bool code_of(struct gobject *gobject, const char *library,
		    const char *name, uint64_t *addr, uint8_t code[CODE])
{
	struct symbol symbol;

	if (!symbols_named(gobject->view->world->symbols, library, name,
			   &symbol, 1) ||
	    pages_read(gobject->view->pages, symbol.addr, code, CODE) < 0)
		return false;
	*addr = symbol.addr;
	return true;
}

/* The operand of the first "@opcode reg, [rip + x]" of 64 bits; 0: none. */
static uint64_t rip_operand(uint64_t addr, const uint8_t code[CODE],
			    uint8_t opcode)
{
	for (unsigned i = 0; i + 7 <= CODE; i++) {
		int32_t displacement;

		if ((code[i] & 0xfb) != 0x48 || code[i + 1] != opcode ||
		    (code[i + 2] & 0xc7) != 0x05)
			continue;
		memcpy(&displacement, code + i + 3, 4);
		return addr + i + 7 + (uint64_t)(int64_t)displacement;
	}
	return 0;
}

static bool has(const uint8_t code[CODE], const char *bytes, size_t count)
{
	return memmem(code, CODE, bytes, count) != NULL;
}

void gobject_locate(struct gobject *gobject)
{
	uint8_t code[CODE];
	uint64_t addr;

	if (!code_of(gobject, "libglib-2.0", "g_quark_to_string", &addr, code))
		return;
	gobject->quarks = rip_operand(addr, code, 0x8b); /* mov */
	if (!code_of(gobject, "libgobject-2.0", "g_type_fundamental", &addr,
		     code))
		return;
	gobject->nodes = rip_operand(addr, code, 0x8d); /* lea */
	/* movzx eax, byte [rdi+20]; mov rax, [rdi+8*rax+72]: n_supers, supers
	 */
	gobject->known = gobject->quarks && gobject->nodes &&
			 has(code, "\x47\x14", 2) && has(code, "\xc7\x48", 2);
}
