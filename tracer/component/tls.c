/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/typed.h"
#include "tracer/process/demangle.h"

enum {
	BLOCKS = 64,  /* modules with thread-local storage */
	THREADS = 64, /* that are remembered */
	SEARCHED = 8, /* of them for blocks that have no fixed place */
	MAX_LINK_MAPS = 4096,
	AGAIN = 256, /* stops until modules are looked for again */
	MAX_MODULE_ID = 65536,
};

/*
 * Thread-local storage of x86-64 (variant II): fs_base points to the control
 * block, which begins with its own address and that of the vector of blocks
 * (DTV), one for each module.  Where glibc keeps a module's number and place,
 * it tells debuggers by symbols that are made for libthread_db.
 *
 * Ulrich Drepper, ELF Handling For Thread-Local Storage, 2013.
 */
enum { TCB_DTV = 8, TCB_SELF = 16, DTV_ENTRY = 16 };
enum { R_DEBUG_MAP = 8, LINK_MAP_LD = 16, LINK_MAP_NEXT = 24 };

struct block {
	const struct module *module;
	uint64_t size;
	uint64_t below;	 /* fs_base, where it is a fixed one; else 0 */
	uint64_t number; /* of the module, in the vector; 0: not known */
};

struct tls {
	const struct view *view;
	bool known;		    /* the blocks */
	bool incomplete;	    /* some module was not found */
	unsigned generation, epoch; /* of the symbols; stops since then */
	struct block block[BLOCKS];
	unsigned blocks;
	uint64_t deepest;	  /* of the fixed ones below fs_base */
	bool dynamic;		  /* there are others */
	uint64_t thread[THREADS]; /* fs_base of those that were seen */
	unsigned next;
};

static bool word(struct tls *tls, uint64_t addr, uint64_t *ret)
{
	return pages_words(tls->view->pages, addr, ret, 1);
}

/* An offset in glibc's struct link_map: size in bits, count, offset. */
static bool offset_of(struct tls *tls, const char *name, uint64_t *ret)
{
	struct symbol symbol;
	uint32_t field[3];

	if (!symbols_named(tls->view->world->symbols, NULL, name, &symbol, 1) ||
	    pages_read(tls->view->pages, symbol.addr, field, sizeof(field)) <
		    0 ||
	    field[0] != 64 || field[2] > 4096)
		return false;
	*ret = field[2];
	return true;
}

static struct block *add(struct tls *tls, const struct module *module)
{
	uint64_t align, size = symbols_thread_size(module, &align);

	if (!size || tls->blocks == BLOCKS)
		return NULL;
	tls->block[tls->blocks] =
		(struct block){ .module = module, .size = size };
	return &tls->block[tls->blocks++];
}

/* What the loader's list of modules says. */
static void add_loaded(struct tls *tls, uint64_t place, uint64_t number)
{
	struct symbols *symbols = tls->view->world->symbols;
	struct symbol debug;
	uint64_t map, ld;

	if (!symbols_named(symbols, NULL, "_r_debug", &debug, 1) ||
	    !word(tls, debug.addr + R_DEBUG_MAP, &map))
		return;
	for (unsigned i = 0; map && i < MAX_LINK_MAPS; i++) {
		const struct module *module;
		struct block *block;
		uint64_t shift;

		if (!word(tls, map + LINK_MAP_LD, &ld))
			return;
		module = symbols_module(symbols, ld);
		block = module ? add(tls, module) : NULL;
		if (block && word(tls, map + number, &block->number) &&
		    word(tls, map + place, &shift) && (int64_t)shift > 0)
			block->below = shift;
		if (!word(tls, map + LINK_MAP_NEXT, &map))
			return;
	}
}

/* A program without a loader has its block right below the control block. */
static void add_program(struct tls *tls, const struct module *program)
{
	struct block *block = add(tls, program);
	uint64_t align;

	if (!block)
		return;
	symbols_thread_size(program, &align);
	block->below = (block->size + align - 1) / align * align;
}

static void find_blocks(struct tls *tls)
{
	const struct module *const *module;
	size_t count = symbols_modules(tls->view->world->symbols, &module);
	uint64_t place, number, align;
	unsigned all = 0;

	tls->known = true;
	tls->blocks = tls->epoch = 0;
	tls->deepest = 0;
	tls->dynamic = false;
	for (size_t i = 0; i < count; i++)
		all += symbols_thread_size(module[i], &align) > 0;
	if (!all)
		return;
	if (offset_of(tls, "_thread_db_link_map_l_tls_offset", &place) &&
	    offset_of(tls, "_thread_db_link_map_l_tls_modid", &number))
		add_loaded(tls, place, number);
	if (!tls->blocks)
		add_program(tls, module[0]);
	tls->incomplete = tls->blocks < all;
	for (unsigned i = 0; i < tls->blocks; i++) {
		tls->deepest = max_u64(tls->deepest, tls->block[i].below);
		tls->dynamic |= !tls->block[i].below;
	}
}

/* Does a control block lie there? */
static bool is_thread(struct tls *tls, uint64_t fs_base)
{
	uint64_t self;

	return fs_base && fs_base % 8 == 0 &&
	       word(tls, fs_base + TCB_SELF, &self) && self == fs_base;
}

static void remember(struct tls *tls, uint64_t fs_base)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (tls->thread[i] == fs_base)
			return;
	if (is_thread(tls, fs_base))
		tls->thread[tls->next++ % THREADS] = fs_base;
}

/* Where the thread has its own; false: not yet. */
static bool start_of(struct tls *tls, uint64_t fs_base,
		     const struct block *block, uint64_t *ret)
{
	uint64_t vector, count;

	if (block->below) {
		*ret = fs_base - block->below;
		return true;
	}
	if (!block->number || block->number > MAX_MODULE_ID ||
	    !word(tls, fs_base + TCB_DTV, &vector) ||
	    !word(tls, vector - DTV_ENTRY, &count) || block->number > count ||
	    !word(tls, vector + DTV_ENTRY * block->number, ret))
		return false;
	return *ret && *ret != UINT64_MAX;
}

static void describe(struct tls *tls, const struct block *block, uint64_t start,
		     uint64_t addr, struct component *ret)
{
	_cleanup_(freep) char *text = NULL;
	struct symbol symbol;
	struct type *type;

	ret->kind = "tls";
	ret->runtime = "c";
	if (symbols_thread(block->module, addr - start, &symbol) < 0) {
		ret->how = "module";
		ret->confidence = CONFIDENCE_LIKELY;
		ret->start = start;
		ret->size = block->size;
		component_name(ret, block->module->name);
		return;
	}
	ret->how = "symbol";
	ret->confidence = CONFIDENCE_EXACT;
	ret->start = start + symbol.addr;
	ret->size = symbol.size;
	text = demangle(symbol.name);
	component_name(ret, text ? text : symbol.name);
	type = symbols_thread_type(&symbol);
	if (type)
		typed_member(tls->view->pages, type, ret->start, addr, ret);
}

static bool is_of(struct tls *tls, uint64_t fs_base, uint64_t addr,
		  struct component *ret)
{
	for (unsigned i = 0; i < tls->blocks; i++) {
		const struct block *block = &tls->block[i];
		uint64_t start;

		if (!start_of(tls, fs_base, block, &start) ||
		    addr - start >= block->size)
			continue;
		describe(tls, block, start, addr, ret);
		return true;
	}
	return false;
}

/* Without a look at its vector, of which there may be many. */
static bool may_be_of(const struct tls *tls, unsigned i, uint64_t addr)
{
	return tls->thread[i] - addr <= tls->deepest ||
	       (tls->dynamic && i < SEARCHED);
}

/* Of the thread itself, or of another one that was seen. */
static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	struct tls *tls = state;

	if (!tls->known || (tls->incomplete && tls->epoch > AGAIN))
		find_blocks(tls);
	if (!tls->blocks)
		return;
	remember(tls, query->fs_base);
	if (is_thread(tls, query->fs_base) &&
	    is_of(tls, query->fs_base, query->addr, ret))
		return;
	for (unsigned i = 0; i < THREADS && tls->thread[i]; i++) {
		uint64_t fs_base = tls->thread[i];

		if (fs_base == query->fs_base ||
		    !may_be_of(tls, i, query->addr) ||
		    !is_thread(tls, fs_base) ||
		    !is_of(tls, fs_base, query->addr, ret))
			continue;
		/* Nobody told whether it lives yet. */
		ret->confidence = CONFIDENCE_LIKELY;
		return;
	}
}

static void epoch(void *state)
{
	struct tls *tls = state;

	tls->epoch++;
}

static void remap(void *state)
{
	struct tls *tls = state;
	unsigned generation = symbols_generation(tls->view->world->symbols);

	if (generation != tls->generation)
		tls->known = false;
	tls->generation = generation;
}

static int open_tls(const struct view *view, void **ret)
{
	struct tls *tls = calloc(1, sizeof(*tls));

	if (!tls)
		return -ENOMEM;
	tls->view = view;
	*ret = tls;
	return 0;
}

const struct runtime runtime_tls = {
	.name = "tls",
	.open = open_tls,
	.close = free,
	.resolve = resolve,
	.epoch = epoch,
	.remap = remap,
};
