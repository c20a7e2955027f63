/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/vtable.h"
#include "tracer/process/demangle.h"
#include "tracer/process/spelling.h"

enum {
	FIRST_SLOTS = 4096,
	MAX_SLOTS = 1 << 21,
	MAX_TYPE_NAME = 1024,
	METAS = 16,
	STALE = 256, /* stops after which a "no" is looked at again */
};

/* No base is farther from its object's start. */
#define MAX_TOP (INT64_C(1) << 24)

struct vtables {
	struct pages *pages;
	struct symbols *symbols;
	unsigned generation, epoch;

	struct vtable *slot; /* open addressing; pointer 0 is empty */
	size_t slots, used;  /* slots: a power of two */

	uint64_t meta[METAS]; /* vtable pointers of type_infos of classes */
	unsigned metas;
	uint8_t filter[VTABLE_FILTER / 8];
};

struct vtables *vtables_new(struct pages *pages, struct symbols *symbols)
{
	struct vtables *vtables = calloc(1, sizeof(*vtables));

	if (!vtables)
		return NULL;
	vtables->slot = calloc(FIRST_SLOTS, sizeof(*vtables->slot));
	if (!vtables->slot) {
		free(vtables);
		return NULL;
	}
	vtables->slots = FIRST_SLOTS;
	vtables->pages = pages;
	vtables->symbols = symbols;
	return vtables;
}

/* Of a short-lived child nothing was asked: its table is not touched. */
static void forget(struct vtables *vtables)
{
	vtables->metas = 0;
	if (!vtables->used)
		return;
	for (size_t i = 0; i < vtables->slots; i++)
		free(vtables->slot[i].name);
	memset(vtables->slot, 0, vtables->slots * sizeof(*vtables->slot));
	vtables->used = 0;
}

void vtables_free(struct vtables *vtables)
{
	if (!vtables)
		return;
	forget(vtables);
	free(vtables->slot);
	free(vtables);
}

void vtables_epoch(struct vtables *vtables)
{
	vtables->epoch++;
}

static void filter_module(struct vtables *vtables, const struct module *module)
{
	uint64_t page = module->start / PAGE;

	for (unsigned i = 0; i < VTABLE_FILTER && page * PAGE < module->end;
	     i++) {
		vtables->filter[page % VTABLE_FILTER / 8] |= 1 << page % 8;
		page++;
	}
}

void vtables_remap(struct vtables *vtables)
{
	unsigned generation = symbols_generation(vtables->symbols);
	const struct module *const *module;
	size_t count;

	if (vtables->generation == generation)
		return;
	vtables->generation = generation;
	forget(vtables);
	memset(vtables->filter, 0, sizeof(vtables->filter));
	count = symbols_modules(vtables->symbols, &module);
	for (size_t i = 0; i < count; i++)
		filter_module(vtables, module[i]);
}

/* Old linkers put constants among the code: any part of a module will do. */
static bool in_module(const struct vtables *vtables, uint64_t addr)
{
	return symbols_module(vtables->symbols, addr) != NULL;
}

const uint8_t *vtables_filter(const struct vtables *vtables)
{
	return vtables->filter;
}

/* "vtable for A" -> "A", "construction vtable for A-in-B" -> "A" */
static char *class_of(const char *mangled)
{
	static const char plain[] = "vtable for ";
	static const char construction[] = "construction vtable for ";
	_cleanup_(freep) char *text = demangle(mangled);
	char *in;

	if (!text)
		return NULL;
	if (!strncmp(text, plain, sizeof(plain) - 1))
		return spelling_plain(text + sizeof(plain) - 1);
	if (strncmp(text, construction, sizeof(construction) - 1) != 0)
		return NULL;
	in = strstr(text, "-in-");
	if (in)
		*in = '\0';
	return spelling_plain(text + sizeof(construction) - 1);
}

static char *by_symbol(struct vtables *vtables, uint64_t pointer)
{
	struct symbol symbol;

	/* A vtable without functions ends where the pointer points. */
	if (symbols_at(vtables->symbols, pointer - 8, &symbol) < 0 ||
	    pointer - symbol.addr < 16)
		return NULL;
	if (strncmp(symbol.name, "_ZTV", 4) != 0 &&
	    strncmp(symbol.name, "_ZTC", 4) != 0)
		return NULL;
	return class_of(symbol.name);
}

/* A printable name that ends in time; *ret has MAX_TYPE_NAME bytes. */
static bool read_name(struct vtables *vtables, uint64_t addr, char *ret)
{
	for (size_t i = 0; i < MAX_TYPE_NAME; i++) {
		if (pages_read(vtables->pages, addr + i, &ret[i], 1) < 0)
			return false;
		if (!ret[i])
			return i > 0;
		if (ret[i] <= ' ' || ret[i] > '~')
			return false;
	}
	return false;
}

/*
 * A type_info is an object itself, of one of three classes if it stands for a
 * class.  @pointer is its vtable pointer.
 */
static bool is_meta(struct vtables *vtables, uint64_t pointer)
{
	static const char *const class[] = {
		"N10__cxxabiv117__class_type_infoE",
		"N10__cxxabiv120__si_class_type_infoE",
		"N10__cxxabiv121__vmi_class_type_infoE",
	};
	char name[MAX_TYPE_NAME], *text = name;
	uint64_t type, info[2];

	for (unsigned i = 0; i < vtables->metas; i++)
		if (vtables->meta[i] == pointer)
			return true;
	if (pointer % 8 || !in_module(vtables, pointer) ||
	    !pages_words(vtables->pages, pointer - 8, &type, 1) || type % 8 ||
	    !in_module(vtables, type) ||
	    !pages_words(vtables->pages, type, info, 2) ||
	    !in_module(vtables, info[1]) || !read_name(vtables, info[1], name))
		return false;
	if (*text == '*')
		text++;
	for (size_t i = 0; i < ARRAY_SIZE(class); i++) {
		if (strcmp(text, class[i]) != 0)
			continue;
		if (vtables->metas < METAS)
			vtables->meta[vtables->metas++] = pointer;
		return true;
	}
	return false;
}

char *vtables_type(struct vtables *vtables, uint64_t addr)
{
	char name[MAX_TYPE_NAME], *text = name;
	_cleanup_(freep) char *class = NULL;
	uint64_t info[2];

	if (addr % 8 || !in_module(vtables, addr) ||
	    !pages_words(vtables->pages, addr, info, 2) ||
	    !is_meta(vtables, info[0]) || !in_module(vtables, info[1]) ||
	    !read_name(vtables, info[1], name))
		return NULL;
	/* The mark of a name that is compared by its address. */
	if (*text == '*')
		text++;
	class = demangle(text);
	return class ? spelling_plain(class) : NULL;
}

static void learn(struct vtables *vtables, struct vtable *vtable)
{
	uint64_t head[2]; /* offset to top, type_info */

	vtable->epoch = vtables->epoch;
	if (!pages_words(vtables->pages, vtable->pointer - 16, head, 2))
		return;
	vtable->top = head[0];
	if (vtable->top > 0 || vtable->top < -MAX_TOP || vtable->top % 8)
		return;
	vtable->how = "vtable";
	vtable->name = by_symbol(vtables, vtable->pointer);
	if (vtable->name)
		return;
	vtable->how = "rtti";
	vtable->name = vtables_type(vtables, head[1]);
}

static struct vtable *slot_of(struct vtables *vtables, uint64_t pointer)
{
	size_t at = pointer * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	while (1) {
		struct vtable *slot = &vtables->slot[at & (vtables->slots - 1)];

		if (!slot->pointer || slot->pointer == pointer)
			return slot;
		at++;
	}
}

/* Keeps half of the slots empty.  Without memory all is forgotten. */
static void make_room(struct vtables *vtables)
{
	struct vtable *old = vtables->slot;
	size_t slots = vtables->slots;

	if (2 * (vtables->used + 1) <= slots)
		return;
	vtables->slot = slots < MAX_SLOTS
				? calloc(2 * slots, sizeof(*vtables->slot))
				: NULL;
	if (!vtables->slot) {
		vtables->slot = old;
		forget(vtables);
		return;
	}
	vtables->slots = 2 * slots;
	for (size_t i = 0; i < slots; i++)
		if (old[i].pointer)
			*slot_of(vtables, old[i].pointer) = old[i];
	free(old);
}

struct vtable *vtables_find(struct vtables *vtables, uint64_t pointer)
{
	struct vtable *vtable;

	if (!vtables_plausible(vtables, pointer))
		return NULL;
	vtable = slot_of(vtables, pointer);
	if (!vtable->pointer) {
		/* Of a large heap many words pass the filter. */
		if (!in_module(vtables, pointer))
			return NULL;
		make_room(vtables);
		vtable = slot_of(vtables, pointer);
		vtable->pointer = pointer;
		vtables->used++;
		learn(vtables, vtable);
	} else if (!vtable->name && vtables->epoch - vtable->epoch > STALE) {
		/* It may have been relocated meanwhile. */
		learn(vtables, vtable);
	}
	return vtable->name ? vtable : NULL;
}
