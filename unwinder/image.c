/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "unwinder/image.h"

enum {
	FIXED_MAX = 16384, /* pages: 64 MiB */
	FRESH_MAX = 2048,  /* pages: 8 MiB */
	/*
	 * Reading 16 KiB costs little more than reading 8 bytes, and a stack
	 * is read upwards.
	 */
	FRESH_AHEAD = 4,
};

int image_init(struct image *image)
{
	int r;

	r = pages_init(&image->fixed, FIXED_MAX, 1);
	if (r < 0)
		return r;
	return pages_init(&image->fresh, FRESH_MAX, FRESH_AHEAD);
}

void image_done(struct image *image)
{
	pages_done(&image->fixed);
	pages_done(&image->fresh);
	modules_done(&image->modules);
}

int image_modules(struct image *image, const struct unwinder_module *modules,
		  size_t count)
{
	pages_clear(&image->fixed);
	return modules_set(&image->modules, modules, count);
}

void image_begin(struct image *image, const struct memory *memory)
{
	image->memory = memory;
	image->budget = IMAGE_STEP_WORDS;
	image->error = 0;
	pages_clear(&image->fresh);
}

static void note(struct image *image, int r)
{
	if (r < 0 && r != -EFAULT && !image->error)
		image->error = r;
}

/* Which cache holds @page: most words are in the page that was asked last. */
static struct pages *cache_of(struct image *image, uint64_t page)
{
	struct module *module;

	if (image->fresh.last == page)
		return &image->fresh;
	if (image->fixed.last == page)
		return &image->fixed;
	module = modules_find(&image->modules, page);
	/* a page on the edge counts as fixed from its first such byte on */
	if (module && (module_is_fixed(module, page) ||
		       module_is_fixed(module, page + PAGE - 1)))
		return &image->fixed;
	return &image->fresh;
}

int image_read(struct image *image, uint64_t addr, void *buffer, size_t size)
{
	char *to = buffer;

	if (!image->budget)
		return -EFAULT;
	image->budget--;
	while (size) {
		uint64_t page = page_down(addr);
		size_t n = min_u64(size, page + PAGE - addr);
		const char *from;
		int r;

		r = pages_get(cache_of(image, page), image->memory, page,
			      &from);
		if (r < 0) {
			note(image, r);
			return r;
		}
		memcpy(to, from + (addr - page), n);
		to += n;
		addr += n;
		size -= n;
	}
	return 0;
}

struct module *image_module(struct image *image, uint64_t addr)
{
	struct module *module = modules_find(&image->modules, addr);
	int r;

	if (!module)
		return NULL;
	r = module_load(module, image->memory);
	note(image, r);
	return r < 0 ? NULL : module;
}

bool image_is_fixed(const struct image *image, uint64_t addr)
{
	struct module *module = modules_find(&image->modules, addr);

	/* a word on the edge counts as fixed, as a page does */
	return module && (module_is_fixed(module, addr) ||
			  module_is_fixed(module, addr + 7));
}
