/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/process/modules.h"

enum { MAX_MODULES = 16384 };

struct list {
	const struct module **module;
	size_t count, capacity;
};

static bool same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->device == b->device;
}

/* Does @addr show byte @offset of the file that @file maps? */
static bool shows(const struct maps *maps, const struct mapping *file,
		  uint64_t addr, uint64_t offset)
{
	const struct mapping *m = maps_find(maps, addr);

	return m && same_file(m, file) &&
	       m->offset + (addr - m->start) == offset;
}

/*
 * Whoever maps a library to read it has no module there: the code must lie
 * where the loader puts it.  Some programs move their code to huge pages, so
 * that anonymous memory counts as well if it can be executed.
 */
static bool is_loaded(const struct maps *maps, const struct mapping *file,
		      const struct elf_layout *layout, uint64_t bias)
{
	for (unsigned i = 0; i < layout->loads; i++) {
		const struct elf_load *load = &layout->load[i];
		uint64_t page = page_down(load->vaddr) + bias;
		const struct mapping *m = maps_find(maps, page);

		if (!load->exec)
			continue;
		if (!m || !(m->prot & PROT_EXEC))
			return false;
		return !m->inode ||
		       shows(maps, file, page, page_down(load->offset));
	}
	return shows(maps, file,
		     page_down(layout->load[layout->loads - 1].vaddr) + bias,
		     page_down(layout->load[layout->loads - 1].offset));
}

/* 0 and the bias, or -ENOENT if the first segment does not start in @m. */
static int find_bias(const struct maps *maps, const struct mapping *m,
		     const struct elf_layout *layout, uint64_t *ret)
{
	uint64_t first = page_down(layout->load[0].offset), bias;

	if (!m->inode) {
		*ret = m->start - layout->start;
		return 0;
	}
	if (first < m->offset || first - m->offset >= m->end - m->start)
		return -ENOENT;
	bias = m->start + (first - m->offset) - layout->start;
	if (bias + layout->end < bias + layout->start ||
	    !is_loaded(maps, m, layout, bias))
		return -ENOENT;
	*ret = bias;
	return 0;
}

/* "/usr/lib/libz.so.1 (deleted)" -> "libz.so.1" */
static char *base_name(const char *path)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : "vdso";
	size_t size = strlen(name), tail = sizeof(deleted) - 1;

	if (size > tail && !strcmp(name + size - tail, deleted))
		size -= tail;
	return strndup(name, size);
}

/* A range of the file as addresses of the process; none is 0 to 0. */
static void shift(uint64_t bias, uint64_t start, uint64_t end, uint64_t *from,
		  uint64_t *to)
{
	*from = start < end ? start + bias : 0;
	*to = start < end ? end + bias : 0;
}

static void fill(struct place *place, uint64_t bias)
{
	const struct elf_layout *layout = &place->image->layout;
	struct module *module = &place->module;

	module->start = layout->start + bias;
	module->end = layout->end + bias;
	module->bias = bias;
	module->path = place->path;
	module->name = place->name;
	shift(bias, layout->text_start, layout->text_end, &module->text_start,
	      &module->text_end);
	shift(bias, layout->relro_start, layout->relro_end,
	      &module->relro_start, &module->relro_end);
	module->eh_frame_hdr_size = layout->eh_frame_hdr_size;
	if (module->eh_frame_hdr_size)
		module->eh_frame_hdr = layout->eh_frame_hdr + bias;
}

static void place_free(struct place *place)
{
	free(place->path);
	free(place->name);
	free(place);
}

static int place_of(struct symbols *symbols, struct image *image, uint64_t bias,
		    const char *path, const struct module **ret)
{
	struct place *place;

	for (place = symbols->places; place; place = place->next) {
		if (place->image == image && place->module.bias == bias) {
			*ret = &place->module;
			return 0;
		}
	}
	place = calloc(1, sizeof(*place));
	if (!place)
		return -ENOMEM;
	place->image = image;
	place->path = strdup(path);
	place->name = base_name(path);
	if (!place->path || !place->name) {
		place_free(place);
		return -ENOMEM;
	}
	fill(place, bias);
	place->next = symbols->places;
	symbols->places = place;
	*ret = &place->module;
	return 0;
}

static int append(struct list *list, const struct module *module)
{
	if (list->count == MAX_MODULES)
		return 0;
	if (list->count == list->capacity) {
		size_t n = list->capacity ? 2 * list->capacity : 64;
		const struct module **bigger =
			reallocarray(list->module, n, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		list->module = bigger;
		list->capacity = n;
	}
	list->module[list->count++] = module;
	return 0;
}

static bool may_be_module(const struct mapping *m)
{
	return m->inode ? m->path[0] == '/' : !strcmp(m->path, "[vdso]");
}

/* Mappings come in address order, and so do the modules that start there. */
static int collect(struct symbols *symbols, const struct maps *maps,
		   struct list *list)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->mapping[i];
		const struct module *module;
		struct image *image;
		uint64_t bias;
		int r;

		if (!may_be_module(m))
			continue;
		r = image_of(&symbols->images, m, &image);
		if (r < 0)
			return r;
		if (!image->is_elf ||
		    find_bias(maps, m, &image->layout, &bias) < 0)
			continue;
		if (list->count && list->module[list->count - 1]->end >
					   image->layout.start + bias)
			continue;
		r = place_of(symbols, image, bias, m->path, &module);
		if (r < 0)
			return r;
		r = append(list, module);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool equal(const struct symbols *symbols, const struct list *list)
{
	return symbols->count == list->count &&
	       (!list->count || !memcmp(symbols->modules, list->module,
					list->count * sizeof(*list->module)));
}

int symbols_update(struct symbols *symbols, const struct maps *maps)
{
	struct list list = { 0 };
	int r;

	symbols->images.snapshot++;
	r = collect(symbols, maps, &list);
	if (r < 0 || equal(symbols, &list)) {
		free(list.module);
		return r;
	}
	free(symbols->modules);
	symbols->modules = list.module;
	symbols->count = list.count;
	symbols->generation++;
	memset(symbols->recent, 0, sizeof(symbols->recent));
	return 0;
}

void symbols_follow(struct symbols *symbols, pid_t tid)
{
	images_follow(&symbols->images, tid);
}

int symbols_new(pid_t pid, struct symbols **ret)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	symbols->images.pid = pid;
	symbols->images.snapshot = 1;
	*ret = symbols;
	return 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	while (symbols->places) {
		struct place *place = symbols->places;

		symbols->places = place->next;
		place_free(place);
	}
	images_free(&symbols->images);
	free(symbols->modules);
	free(symbols);
}

unsigned symbols_generation(const struct symbols *symbols)
{
	return symbols->generation;
}

size_t symbols_modules(const struct symbols *symbols,
		       const struct module *const **ret)
{
	*ret = symbols->modules;
	return symbols->count;
}

const struct module *symbols_module(const struct symbols *symbols,
				    uint64_t addr)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->modules[middle]->start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || addr >= symbols->modules[low - 1]->end)
		return NULL;
	return symbols->modules[low - 1];
}
