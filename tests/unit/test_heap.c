/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "tracer/component/heap.h"

#define BASE UINT64_C(0x7f0000000000)

enum { MAPPED_PAGES = 32, HEADER = 16, MMAPPED = 2 };

/* A mapping of memory that is nobody's but for chunks of malloc's. */
struct memory_scene {
	uint8_t image[MAPPED_PAGES * PAGE];
	struct mapping mapping;
	struct maps maps;
	struct memory memory;
	struct pages *pages;
	struct symbols *symbols;
	struct heap *heap;
};

static int read_image(void *context, uint64_t addr, void *buffer, size_t size)
{
	const struct memory_scene *scene = context;
	uint64_t at = addr - BASE;

	if (at >= sizeof(scene->image) || size > sizeof(scene->image) - at)
		return -EFAULT;
	memcpy(buffer, scene->image + at, size);
	return 0;
}

static int set_up(void **state)
{
	struct memory_scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->mapping = (struct mapping){ .start = BASE,
					   .end = BASE + MAPPED_PAGES * PAGE,
					   .path = (char *)"" };
	scene->maps = (struct maps){ &scene->mapping, 1 };
	scene->memory = (struct memory){ scene, read_image, NULL };
	scene->pages = pages_new(&scene->memory);
	assert_non_null(scene->pages);
	assert_int_equal(symbols_new(getpid(), &scene->symbols), 0);
	scene->heap = heap_new(scene->pages);
	assert_non_null(scene->heap);
	heap_remap(scene->heap, &scene->maps, scene->symbols);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct memory_scene *scene = *state;

	heap_free(scene->heap);
	pages_free(scene->pages);
	symbols_free(scene->symbols);
	free(scene);
	return 0;
}

static void put_chunk(struct memory_scene *scene, unsigned page, unsigned pages)
{
	uint64_t head[2] = { 0, pages * PAGE | MMAPPED };

	memcpy(scene->image + page * PAGE, head, sizeof(head));
}

static void expect_chunk(struct memory_scene *scene, unsigned page,
			 unsigned start, unsigned pages)
{
	struct chunk chunk;

	assert_int_equal(
		heap_chunk(scene->heap, BASE + page * PAGE + 64, &chunk), 0);
	assert_int_equal(chunk.start, BASE + start * PAGE + HEADER);
	assert_int_equal(chunk.size, pages * PAGE - HEADER);
}

static void expect_none(struct memory_scene *scene, unsigned page)
{
	struct chunk chunk;

	assert_int_equal(
		heap_chunk(scene->heap, BASE + page * PAGE + 64, &chunk),
		-ENOENT);
}

/* What was looked for above them, and in vain, says nothing of chunks. */
static void test_mapped_chunks(void **state)
{
	struct memory_scene *scene = *state;

	put_chunk(scene, 2, 4);
	put_chunk(scene, 10, 6);
	expect_none(scene, 30);
	expect_chunk(scene, 12, 10, 6);
	expect_chunk(scene, 10, 10, 6);
	expect_chunk(scene, 15, 10, 6);
	expect_none(scene, 16);
	expect_none(scene, 8);
	expect_chunk(scene, 3, 2, 4);
	expect_none(scene, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mapped_chunks, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
