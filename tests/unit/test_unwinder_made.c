/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of code that has no tables, as somebody tells them, on a stack in an
 * array: walked by libunwind's way, by rules, and by what is known of before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "unwinder/unwinder.h"

enum {
	STACK = 0x800000,
	WORDS = 512,
	CODE = 0x100000,
	LEAF = CODE + 0x10,    /* has made no frame */
	SIZED = CODE + 0x100,  /* of 4 words, rbp the last but one */
	LOADED = CODE + 0x200, /* the caller's sp is kept below its rbp */
	OUTER = CODE + 0x300,  /* keeps rbx, too */
	FRAMES = 16,
};

struct scene {
	uint64_t stack[WORDS];
	int32_t sized; /* bytes */
	struct unwinder *unwinder;
	struct slots *slots;
	struct user_regs_struct regs;
	struct memory memory;
	struct frame frame[FRAMES];
	size_t count, fresh;
};

static int read_stack(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct scene *scene = context;

	if (addr < STACK || addr - STACK > sizeof(scene->stack) ||
	    size > sizeof(scene->stack) - (addr - STACK))
		return -EFAULT;
	memcpy(buffer, (char *)scene->stack + (addr - STACK), size);
	return 0;
}

static bool tell(void *context, uint64_t ip, bool is_return, struct caller *ret)
{
	const struct scene *scene = context;

	assert_true(is_return == (ip != LEAF));
	switch (ip) {
	case LEAF:
		*ret = (struct caller){ .sp = 8 };
		return true;
	case SIZED:
		*ret = (struct caller){
			.sp = scene->sized,
			.ip = scene->sized - 8,
			.saved = 1 << CALLER_RBP,
			.slot[CALLER_RBP] = scene->sized - 16,
		};
		return true;
	case LOADED:
		*ret = (struct caller){
			.by_rbp = true,
			.is_loaded = true,
			.sp = -8,
			.ip = 8,
			.saved = 1 << CALLER_RBP,
		};
		return true;
	case OUTER:
		*ret = (struct caller){
			.by_rbp = true,
			.sp = 16,
			.ip = 8,
			.saved = 1 << CALLER_RBP | 1 << CALLER_RBX,
			.slot[CALLER_RBX] = -8,
		};
		return true;
	default:
		return false;
	}
}

static void put(struct scene *scene, unsigned word, uint64_t value)
{
	scene->stack[word] = value;
}

static uint64_t at(unsigned word)
{
	return STACK + 8 * (uint64_t)word;
}

static void tell_code(struct scene *scene)
{
	const struct code code = { CODE, CODE + 0x1000, scene, tell };

	unwinder_made(scene->unwinder, &code);
}

/* LEAF, SIZED, LOADED, SIZED, OUTER, and the end. */
static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	*state = scene;
	scene->memory = (struct memory){ scene, read_stack, NULL };
	scene->regs.rip = LEAF;
	scene->regs.rsp = at(32);
	scene->regs.rbp = at(50);
	scene->sized = 32;
	put(scene, 32, SIZED);
	put(scene, 35, at(50));
	put(scene, 36, LOADED);
	put(scene, 49, at(60)); /* of more than the return address leaves */
	put(scene, 50, 77);	/* rbp: no frame of its own */
	put(scene, 51, SIZED);
	put(scene, 62, at(80));
	put(scene, 63, OUTER);
	put(scene, 79, 5);
	put(scene, 80, 0);
	put(scene, 81, 0);
	assert_int_equal(unwinder_new(&scene->unwinder), 0);
	assert_int_equal(slots_new(&scene->slots), 0);
	tell_code(scene);
	return 0;
}

static int end(void **state)
{
	struct scene *scene = *state;

	slots_free(scene->slots);
	unwinder_free(scene->unwinder);
	free(scene);
	return 0;
}

static void expect_frames(const struct scene *scene, uint64_t loaded_cfa)
{
	const uint64_t ip[] = { LEAF, SIZED, LOADED, SIZED, OUTER };
	const uint64_t cfa[] = { at(33), at(37), loaded_cfa, at(64), at(82) };

	assert_int_equal(scene->count, ARRAY_SIZE(ip));
	for (size_t i = 0; i < scene->count; i++) {
		assert_int_equal(scene->frame[i].ip, ip[i]);
		assert_int_equal(scene->frame[i].cfa, cfa[i]);
		assert_false(scene->frame[i].guessed);
	}
}

static int walk(struct scene *scene, struct slots *slots)
{
	return unwinder_walk_warm(scene->unwinder, slots, &scene->regs,
				  &scene->memory, scene->frame, FRAMES,
				  &scene->count, &scene->fresh);
}

static void expect_all(struct scene *scene)
{
	assert_int_equal(unwinder_walk(scene->unwinder, &scene->regs,
				       &scene->memory, scene->frame, FRAMES,
				       &scene->count),
			 UNWINDER_END_BOTTOM);
	expect_frames(scene, at(60));
	assert_int_equal(walk(scene, NULL), UNWINDER_END_BOTTOM);
	expect_frames(scene, at(60));
	assert_int_equal(walk(scene, scene->slots), UNWINDER_END_BOTTOM);
	expect_frames(scene, at(60));
}

static void test_walks(void **state)
{
	struct scene *scene = *state;
	struct unwinder_stats stats;

	expect_all(scene);
	assert_int_equal(scene->fresh, scene->count);
	expect_all(scene);
	assert_int_equal(scene->fresh, 0);
	unwinder_stats(scene->unwinder, &stats);
	assert_int_equal(stats.declined, 0);
	assert_int_equal(stats.rules, 4);
}

/* All that a step was found by is compared before it is taken over. */
static void test_what_is_needed(void **state)
{
	struct scene *scene = *state;

	expect_all(scene);
	put(scene, 49, at(61)); /* the word that is loaded */
	put(scene, 63, 0);
	put(scene, 64, OUTER); /* where the return address is, then */
	put(scene, 63, at(80));
	assert_int_equal(walk(scene, scene->slots), UNWINDER_END_BOTTOM);
	assert_int_equal(scene->count, 5);
	assert_int_equal(scene->frame[2].cfa, at(61));
	assert_int_equal(scene->frame[3].cfa, at(65));

	put(scene, 35, at(51)); /* the rbp that LOADED is found by */
	put(scene, 50, at(60));
	put(scene, 52, 0); /* returns to nowhere */
	assert_int_equal(walk(scene, scene->slots), UNWINDER_END_BOTTOM);
	assert_int_equal(scene->count, 3);
}

/* Other code in its place. */
static void test_changes(void **state)
{
	struct scene *scene = *state;

	expect_all(scene);
	scene->sized = 40;
	put(scene, 36, at(50));
	put(scene, 37, LOADED);
	put(scene, 63, at(80));
	put(scene, 64, OUTER);
	tell_code(scene);
	assert_int_equal(walk(scene, scene->slots), UNWINDER_END_BOTTOM);
	assert_int_equal(scene->count, 5);
	assert_int_equal(scene->frame[1].cfa, at(38));
	assert_int_equal(scene->frame[3].cfa, at(65));
}

/* What is not known is guessed, as ever, and asked for again. */
static void test_unknown(void **state)
{
	struct scene *scene = *state;

	put(scene, 36, CODE + 0x800);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk(scene, scene->slots),
				 UNWINDER_END_BROKEN);
		assert_int_equal(scene->count, 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_walks, begin, end),
		cmocka_unit_test_setup_teardown(test_what_is_needed, begin,
						end),
		cmocka_unit_test_setup_teardown(test_changes, begin, end),
		cmocka_unit_test_setup_teardown(test_unknown, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
