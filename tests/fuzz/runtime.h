/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * runtime - any bytes as the memory of a process that has a runtime
 *
 * The input: eight offsets of two bytes each, which are what was touched and
 * what registers held, and the memory from IMAGE on.  tests/fuzz/images.py
 * makes the corpus.
 */

#include <errno.h>
#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"
#include "tracer/component/runtime.h"

#define IMAGE UINT64_C(0x40000)

enum { OFFSETS = 8 };

struct image {
	uint16_t offset[OFFSETS];
	const uint8_t *bytes;
	size_t size;
	struct mapping mapping;
	struct maps maps;
	struct world world;
	struct view view;
	uint64_t objects;
};

static inline int image_read(void *context, uint64_t addr, void *buffer,
			     size_t size)
{
	const struct image *image = context;
	uint64_t mapped = image->mapping.end - IMAGE;
	uint64_t at = addr - IMAGE;

	if (at >= mapped || size > mapped - at)
		return -EFAULT;
	memset(buffer, 0, size);
	if (at < image->size)
		memcpy(buffer, image->bytes + at,
		       min_u64(size, image->size - at));
	return 0;
}

static inline void image_open(struct image *image, const uint8_t *data,
			      size_t size)
{
	/* They are large: once is enough. */
	static struct symbols *symbols;
	static struct pages *pages;
	static struct heap *heap;
	struct input input = { data, size };

	if (!symbols) {
		expect(symbols_new(getpid(), &symbols) == 0);
		pages = pages_new(NULL);
		expect(pages);
		heap = heap_new(pages);
		expect(heap);
	}
	*image = (struct image){ .size = 0 };
	input_take(&input, image->offset, sizeof(image->offset));
	image->bytes = input.data;
	image->size = input.size;
	image->mapping = (struct mapping){
		.start = IMAGE,
		.end = IMAGE + page_up(image->size + 1),
		.prot = PROT_READ | PROT_WRITE,
		.path = (char *)(uintptr_t) "",
	};
	image->maps = (struct maps){ &image->mapping, 1 };
	image->world = (struct world){
		.memory = { .context = image, .read = image_read },
		.maps = &image->maps,
		.symbols = symbols,
	};
	image->view.world = &image->world;
	image->view.pages = pages;
	image->view.heap = heap;
	pages->memory = &image->world.memory;
	pages_forget(pages);
	heap_remap(image->view.heap, &image->maps, symbols);
}

static inline void image_resolve(struct image *image,
				 const struct runtime *runtime, void *state,
				 unsigned i)
{
	struct component got = { 0 };
	struct query query = {
		.addr = IMAGE + image->offset[i],
		.size = 1,
		.write = i & 1,
		.candidates = { IMAGE + image->offset[i ^ 1],
				IMAGE + image->offset[(i + 2) % OFFSETS] },
		.ncandidates = (i + 1) % 3,
	};

	runtime->resolve(state, &query, &got);
	expect(memchr(got.name, '\0', sizeof(got.name)));
	expect(memchr(got.member, '\0', sizeof(got.member)));
	if (got.confidence == CONFIDENCE_NONE)
		return;
	expect(got.kind && got.how && got.name[0]);
	expect(got.start <= query.addr);
	expect(!got.size || query.addr - got.start < got.size);
}

static inline int image_count(void *context, const struct component *object)
{
	struct image *image = context;

	expect(object->name[0]);
	return ++image->objects > 10000;
}

static inline int image_name(void *context, const char *name)
{
	struct image *image = context;

	expect(name[0]);
	return ++image->objects > 10000;
}

/* Each question, also after the target ran, with what is known from before. */
static inline void image_ask(struct image *image, const struct runtime *runtime,
			     void *state)
{
	struct scan scan = { image->mapping.start, image->mapping.end, "*",
			     image_count, image };

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < OFFSETS; i++)
			image_resolve(image, runtime, state, i);
		runtime->epoch(state);
		pages_forget(image->view.pages);
	}
	runtime->each(state, &scan);
	runtime->classes(state, image_name, image);
}
