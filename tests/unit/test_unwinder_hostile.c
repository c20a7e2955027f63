/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables, stacks and programs that somebody forged, in an array.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "unwinder/unwinder.h"

/* One module with text, tables and writable bytes, and one stack. */
enum {
	BASE = 0x400000,
	TEXT = 0x0,
	HDR = 0x1000,
	FRAME = 0x1100, /* .eh_frame: one CIE and one FDE */
	FDE = 0x1120,
	SIZE = 0x4000,
	STACK = 0x800000,
	STACK_SIZE = 0x8000,
	FRAMES_MAX = UNWINDER_DEPTH_MAX + 8,
};

static const uint8_t cie[] = {
	0x14, 0,    0,	 0, /* length */
	0,    0,    0,	 0, /* a CIE */
	1,    'z',  'R', 0, /* version, augmentation */
	1,    0x78, 16,	    /* code 1, data -8, return address */
	1,    0x1b,	    /* one byte: pc-relative sdata4 */
	0x0c, 7,    8,	    /* CFA = rsp + 8 */
	0x90, 1,	    /* rip at CFA - 8 */
	0,    0,
};

struct target {
	uint8_t module[SIZE];
	uint8_t stack[STACK_SIZE];
	uint64_t reads;
	int error; /* of every read from then on */
	struct unwinder_module extent;
	struct user_regs_struct regs;
	struct frame frames[FRAMES_MAX];
	size_t count;
	struct unwinder *unwinder;
	struct slots *slots;
	struct frame again[FRAMES_MAX];
};

static int read_target(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct target *target = context;

	target->reads++;
	if (target->error)
		return target->error;
	if (addr >= BASE && addr < BASE + SIZE && size <= BASE + SIZE - addr) {
		memcpy(buffer, target->module + (addr - BASE), size);
		return 0;
	}
	if (addr >= STACK && addr < STACK + STACK_SIZE &&
	    size <= STACK + STACK_SIZE - addr) {
		memcpy(buffer, target->stack + (addr - STACK), size);
		return 0;
	}
	return -EFAULT;
}

static void put32(struct target *target, size_t offset, uint32_t value)
{
	memcpy(target->module + offset, &value, sizeof(value));
}

static void put_stack(struct target *target, size_t offset, uint64_t value)
{
	memcpy(target->stack + offset, &value, sizeof(value));
}

/* All of the text page is one function with @size bytes of @program. */
static void set_program(struct target *target, const void *program, size_t size)
{
	put32(target, FDE, 13 + size);
	put32(target, FDE + 4, FDE + 4 - FRAME);
	put32(target, FDE + 8, TEXT - (FDE + 8));
	put32(target, FDE + 12, 0x1000);
	target->module[FDE + 16] = 0;
	memcpy(target->module + FDE + 17, program, size);
}

static int set_up(void **state)
{
	struct target *target = calloc(1, sizeof(*target));

	if (!target)
		return -1;
	*state = target;
	memcpy(target->module + HDR, "\x01\x1b\x03\x3b", 4);
	put32(target, HDR + 4, FRAME - (HDR + 4));
	put32(target, HDR + 8, 1);
	put32(target, HDR + 12, (uint32_t)(TEXT - HDR));
	put32(target, HDR + 16, FDE - HDR);
	memcpy(target->module + FRAME, cie, sizeof(cie));
	set_program(target, "", 0);
	target->extent = (struct unwinder_module){
		.start = BASE,
		.end = BASE + SIZE,
		.text_start = BASE + TEXT,
		.text_end = BASE + 0x1000,
		.eh_frame_hdr = BASE + HDR,
		.eh_frame_hdr_size = 20,
	};
	target->regs.rip = BASE + 0x100;
	target->regs.rsp = STACK + 0x100;
	if (slots_new(&target->slots) < 0)
		return -1;
	return unwinder_new(&target->unwinder);
}

static int tear_down(void **state)
{
	struct target *target = *state;

	slots_free(target->slots);
	unwinder_free(target->unwinder);
	free(target);
	return 0;
}

/* What was learnt of a forgery leads nowhere else than libunwind. */
static void assert_same_warm(struct target *target, const struct memory *memory,
			     struct slots *slots, int cold)
{
	uint64_t reads = target->reads;
	size_t count, fresh;

	assert_int_equal(unwinder_walk_warm(
				 target->unwinder, slots, &target->regs, memory,
				 target->again, FRAMES_MAX, &count, &fresh),
			 cold);
	assert_int_equal(count, target->count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(target->again[i].ip, target->frames[i].ip);
		assert_int_equal(target->again[i].cfa, target->frames[i].cfa);
	}
	target->reads = reads;
}

static int walk(struct target *target)
{
	struct memory memory = { target, read_target, NULL };
	int r = unwinder_walk(target->unwinder, &target->regs, &memory,
			      target->frames, FRAMES_MAX, &target->count);

	for (int i = 0; i < 2; i++)
		assert_same_warm(target, &memory, target->slots, r);
	return r;
}

static int walk_anew(struct target *target)
{
	assert_int_equal(unwinder_modules(target->unwinder, &target->extent, 1),
			 0);
	return walk(target);
}

/* The forgery is good where it means to be: three frames, then a zero. */
static void test_honest(void **state)
{
	struct target *target = *state;

	put_stack(target, 0x100, BASE + 0x200);
	put_stack(target, 0x108, BASE + 0x300);
	assert_int_equal(walk_anew(target), UNWINDER_END_BOTTOM);
	assert_int_equal(target->count, 3);
	assert_int_equal(target->frames[1].ip, BASE + 0x200);
	assert_int_equal(target->frames[2].ip, BASE + 0x300);
	assert_int_equal(target->frames[0].cfa, STACK + 0x108);
}

/* Tables and text are kept, stacks are not. */
static void test_kept(void **state)
{
	struct target *target = *state;
	uint64_t before;

	put_stack(target, 0x100, BASE + 0x200);
	assert_int_equal(walk_anew(target), UNWINDER_END_BOTTOM);
	put_stack(target, 0x100, BASE + 0x280);
	before = target->reads;
	assert_int_equal(walk(target), UNWINDER_END_BOTTOM);
	assert_int_equal(target->frames[1].ip, BASE + 0x280);
	assert_int_equal(target->reads, before + 1);
}

/* A stack in the module's writable part is a stack. */
static void test_stack_in_module(void **state)
{
	struct target *target = *state;
	uint64_t ip = BASE + 0x200;

	target->regs.rsp = BASE + 0x3000;
	memcpy(target->module + 0x3000, &ip, sizeof(ip));
	assert_int_equal(walk_anew(target), UNWINDER_END_BOTTOM);
	assert_int_equal(target->frames[1].ip, ip);
	ip = BASE + 0x240;
	memcpy(target->module + 0x3000, &ip, sizeof(ip));
	assert_int_equal(walk(target), UNWINDER_END_BOTTOM);
	assert_int_equal(target->frames[1].ip, ip);
}

/* DW_CFA_def_cfa_expression whose DW_OP_skip jumps to itself. */
static void test_loop_in_expression(void **state)
{
	static const uint8_t program[] = { 0x0f, 3, 0x2f, 0xfd, 0xff };
	struct target *target = *state;

	set_program(target, program, sizeof(program));
	assert_int_equal(walk_anew(target), UNWINDER_END_BROKEN);
	assert_int_equal(target->count, 1);
}

/* A CFA that is the callee's own: CFA = rsp, rip at CFA. */
static void test_cfa_stands_still(void **state)
{
	static const uint8_t program[] = { 0x0e, 0, 0x11, 16, 0 };
	struct target *target = *state;

	set_program(target, program, sizeof(program));
	put_stack(target, 0x100, BASE + 0x200);
	assert_int_equal(walk_anew(target), UNWINDER_END_BROKEN);
	assert_in_range(target->count, 1, 3);
}

/* Two frames that are each other's caller, by rbp. */
static void test_cycle(void **state)
{
	static const uint8_t program[] = { 0x0c, 6, 16, 0x86, 2 };
	struct target *target = *state;

	set_program(target, program, sizeof(program));
	target->regs.rbp = STACK + 0x200;
	put_stack(target, 0x200, STACK + 0x400);
	put_stack(target, 0x208, BASE + 0x200);
	put_stack(target, 0x400, STACK + 0x200);
	put_stack(target, 0x408, BASE + 0x300);
	assert_int_equal(walk_anew(target), UNWINDER_END_BROKEN);
	assert_in_range(target->count, 2, 100);
}

/* rbp leads to itself, to nowhere, or to what nobody called from. */
static void test_pointer(void **state)
{
	struct target *target = *state;

	target->extent.eh_frame_hdr_size = 0;
	target->regs.rbp = STACK + 0x200;
	put_stack(target, 0x200, STACK + 0x200);
	put_stack(target, 0x208, BASE + 0x200);
	assert_int_equal(walk_anew(target), UNWINDER_END_BROKEN);
	assert_int_equal(target->count, 1);

	target->module[0x200 - 5] = 0xe8; /* now there is a call before it */
	assert_int_equal(walk_anew(target), UNWINDER_END_BROKEN);
	assert_int_equal(target->count, 2);

	put_stack(target, 0x200, 0); /* and the outermost frame's mark */
	assert_int_equal(walk(target), UNWINDER_END_BOTTOM);
	assert_int_equal(target->count, 2);

	target->regs.rbp = UINT64_MAX - 7;
	assert_int_equal(walk(target), UNWINDER_END_BROKEN);
	assert_int_equal(target->count, 1);
}

/* As deep as the array goes, and a walk as deep as is allowed. */
static void test_depth(void **state)
{
	struct target *target = *state;

	for (size_t i = 0; i < STACK_SIZE; i += 8)
		put_stack(target, i, BASE + 0x200);
	target->regs.rsp = STACK;
	assert_int_equal(walk_anew(target), UNWINDER_END_TRUNCATED);
	assert_int_equal(target->count, UNWINDER_DEPTH_MAX);
	target->regs.rsp = STACK + STACK_SIZE - 80;
	assert_int_equal(walk(target), UNWINDER_END_BROKEN);
	assert_int_equal(target->count, 11);
}

/* Every byte of the tables, in turn, is wrong in three ways. */
static void test_bad_tables(void **state)
{
	static const uint8_t wrong[] = { 0x00, 0x7f, 0xff };
	struct target *target = *state;

	put_stack(target, 0x100, BASE + 0x200);
	for (size_t i = HDR; i < FDE + 32; i++) {
		uint8_t right = target->module[i];

		for (size_t j = 0; j < ARRAY_SIZE(wrong); j++) {
			target->module[i] = wrong[j];
			assert_in_range(walk_anew(target), 0,
					UNWINDER_END_BROKEN);
			assert_in_range(target->count, 1, FRAMES_MAX);
			assert_int_equal(target->frames[0].ip,
					 target->regs.rip);
		}
		target->module[i] = right;
	}
}

static void test_bad_extent(void **state)
{
	const struct unwinder_module bad[] = {
		{ BASE, BASE + SIZE, 0, 0, BASE + HDR, UINT64_MAX },
		{ BASE, BASE + SIZE, 0, 0, UINT64_MAX - 10, 20 },
		{ BASE, BASE + SIZE, 0, 0, BASE + SIZE, 20 },
		{ BASE, UINT64_MAX, 0, UINT64_MAX, BASE + HDR, 11 },
		{ UINT64_MAX, 0, UINT64_MAX, 0, 0, 0 },
	};
	struct target *target = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		target->extent = bad[i];
		assert_int_equal(walk_anew(target), UNWINDER_END_BROKEN);
		assert_int_equal(target->count, 1);
	}
}

/* Registers that point nowhere; a slot at 0 is libunwind's word for none. */
static void test_bad_registers(void **state)
{
	const uint64_t values[] = {
		0, 1, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, STACK - 4
	};
	struct target *target = *state;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		target->regs.rsp = values[i];
		assert_int_equal(walk_anew(target),
				 values[i] ? UNWINDER_END_BROKEN
					   : UNWINDER_END_BOTTOM);
		assert_int_equal(target->count, 1);
	}
	target->regs.rip = UINT64_MAX;
	assert_int_equal(walk(target), UNWINDER_END_BROKEN);
}

static void test_error(void **state)
{
	struct target *target = *state;

	target->error = -ESRCH;
	assert_int_equal(walk_anew(target), -ESRCH);
	assert_int_equal(target->count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_honest),	     TEST(test_kept),
		TEST(test_stack_in_module),  TEST(test_loop_in_expression),
		TEST(test_cfa_stands_still), TEST(test_cycle),
		TEST(test_pointer),	     TEST(test_depth),
		TEST(test_bad_tables),	     TEST(test_bad_extent),
		TEST(test_bad_registers),    TEST(test_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
