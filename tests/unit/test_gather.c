/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "disasm/execute.h"
#include "disasm/xstate.h"

/*
 * What is told of masked and scattered accesses: an event for each run of
 * lanes.  That they do the right thing is told by the processor, in
 * test_execute.c.
 */

enum { BASE = 0x1000, SIZE = 4096 };

static uint8_t bytes[SIZE];
static unsigned writes, failing; /* that write fails, 0: none */
static struct execute *execute;
static struct cpu cpu;
static struct effect effects[ACCESS_MAX];
static unsigned count;

static int read_bytes(void *context, uint64_t addr, void *buffer, size_t size)
{
	if (addr - BASE > SIZE - size)
		return -EFAULT;
	memcpy(buffer, bytes + addr - BASE, size);
	return 0;
}

static int write_bytes(void *context, uint64_t addr, const void *buffer,
		       size_t size)
{
	if (addr - BASE > SIZE - size || ++writes == failing)
		return -EFAULT;
	memcpy(bytes + addr - BASE, buffer, size);
	return 0;
}

static const struct memory memory = { NULL, read_bytes, write_bytes };

static int set_up(void **state)
{
	cpu.xstate = aligned_alloc(64, XSTATE_MAX);
	return cpu.xstate ? execute_new(&execute) : -ENOMEM;
}

static int tear_down(void **state)
{
	execute_free(execute);
	free(cpu.xstate);
	return 0;
}

/* Memory counts up, rdi is its middle, vector state as a new thread's. */
static void begin(void)
{
	const struct xstate *machine = xstate_machine();
	uint64_t map = machine->components;

	for (unsigned i = 0; i < SIZE; i++)
		bytes[i] = i / 4 + i % 4;
	memset(cpu.xstate, 0, XSTATE_MAX);
	memcpy(cpu.xstate, "\x7f\x03", 2);
	memcpy(cpu.xstate + 24, "\x80\x1f", 2);
	memcpy(cpu.xstate + 512, &map, 8);
	cpu.xstate_size = 4096;
	cpu.regs = (struct user_regs_struct){ .rip = 0x400000,
					      .rdi = BASE + SIZE / 2,
					      .eflags = 2 };
	writes = failing = 0;
}

static void set_words(unsigned number, const int32_t *words, unsigned n)
{
	uint8_t value[XSTATE_VECTOR] = { 0 };

	memcpy(value, words, 4 * n);
	xstate_set_vector(xstate_machine(), &cpu, number, value);
}

static int run(const char *code, size_t length)
{
	struct insn insn;

	assert_int_equal(insn_decode((const uint8_t *)code, length, &insn), 0);
	return execute_run(execute, &insn, &cpu, &memory, effects, &count);
}

static void expect_effect(unsigned i, uint64_t addr, uint64_t size, uint8_t op)
{
	assert_true(i < count);
	assert_int_equal(effects[i].access.addr, addr);
	assert_int_equal(effects[i].access.size, size);
	assert_int_equal(effects[i].access.op, op);
	assert_int_equal(effects[i].access.count, 1);
}

/* vpgatherdd xmm1, [rdi + xmm2*4], xmm3: lanes 0 and 1, not 2, and 3 */
static void test_gather(void **state)
{
	uint8_t value[XSTATE_VECTOR];
	uint64_t middle = BASE + SIZE / 2;

	begin();
	set_words(2, (int32_t[]){ 0, 1, 2, -3 }, 4);
	set_words(3, (int32_t[]){ -1, -1, 0, INT32_MIN }, 4);
	set_words(1, (int32_t[]){ 5, 6, 7, 8 }, 4);
	assert_int_equal(run("\xc4\xe2\x61\x90\x0c\x97", 6), EXECUTE_DONE);
	assert_int_equal(count, 2);
	expect_effect(0, middle, 8, ACCESS_READ);
	expect_effect(1, middle - 12, 4, ACCESS_READ);
	assert_memory_equal(effects[0].old, bytes + SIZE / 2, 8);
	xstate_get_vector(xstate_machine(), &cpu, 1, value);
	assert_memory_equal(value, bytes + SIZE / 2, 8);
	assert_memory_equal(value + 8, "\7\0\0", 4);
	assert_memory_equal(value + 12, bytes + SIZE / 2 - 12, 4);
	xstate_get_vector(xstate_machine(), &cpu, 3, value);
	assert_memory_equal(value, (uint8_t[16]){ 0 }, 16);
}

/* A lane that cannot be reached, registers that raise #UD: nothing is done. */
static void test_declined(void **state)
{
	static uint8_t before[XSTATE_MAX];

	begin();
	set_words(2, (int32_t[]){ 0, 1, 2, 1 << 20 }, 4);
	set_words(3, (int32_t[]){ -1, -1, -1, -1 }, 4);
	memcpy(before, cpu.xstate, sizeof(before));
	assert_int_equal(run("\xc4\xe2\x61\x90\x0c\x97", 6), -EFAULT);
	/* xmm2, [rdi + xmm2*4], xmm3 */
	assert_int_equal(run("\xc4\xe2\x61\x90\x14\x97", 6), EXECUTE_STEP);
	assert_memory_equal(before, cpu.xstate, sizeof(before));
	assert_int_equal(cpu.regs.rip, 0x400000);
	assert_int_equal(count, 0);
}

/* vpscatterdd [rdi + zmm2*4]{k1}, zmm0; two lanes on the same place */
static void test_scatter(void **state)
{
	const struct xstate *machine = xstate_machine();
	static uint8_t before[SIZE];
	uint64_t middle = BASE + SIZE / 2;

	if (!machine->component[5].size)
		skip();
	begin();
	set_words(2, (int32_t[]){ 4, 5, 5, 6, 9, 10 }, 6);
	set_words(0, (int32_t[]){ 1, 2, 3, 4, 5, 6 }, 6);
	xstate_set_mask(machine, &cpu, 1, 0x1f);
	memcpy(before, bytes, SIZE);
	/* The third store fails: the others are taken back. */
	failing = 3;
	assert_int_equal(run("\x62\xf2\x7d\x49\xa0\x04\x97", 7), -EFAULT);
	assert_int_equal(xstate_get_mask(machine, &cpu, 1), 0x1f);
	assert_memory_equal(before, bytes, SIZE);
	failing = 0;
	assert_int_equal(run("\x62\xf2\x7d\x49\xa0\x04\x97", 7), EXECUTE_DONE);
	assert_int_equal(count, 3);
	expect_effect(0, middle + 16, 8, ACCESS_WRITE);
	expect_effect(1, middle + 20, 8, ACCESS_WRITE);
	expect_effect(2, middle + 36, 4, ACCESS_WRITE);
	/* What the third lane found is what the second one left. */
	assert_memory_equal(effects[1].old, "\2\0\0", 4);
	assert_memory_equal(effects[1].new, "\3\0\0\0\4\0\0", 8);
	assert_memory_equal(bytes + SIZE / 2 + 16, "\1\0\0\0\3\0\0\0\4\0\0",
			    12);
	assert_int_equal(xstate_get_mask(machine, &cpu, 1), 0);
}

/* maskmovdqu xmm0, xmm2: bytes 0 to 3 and 8 to 11 */
static void test_maskmov(void **state)
{
	uint64_t middle = BASE + SIZE / 2;

	begin();
	set_words(2, (int32_t[]){ -1, 0, -1, 0 }, 4);
	set_words(0, (int32_t[]){ 1, 2, 3, 4 }, 4);
	assert_int_equal(run("\x66\x0f\xf7\xc2", 4), EXECUTE_DONE);
	assert_int_equal(count, 2);
	expect_effect(0, middle, 4, ACCESS_WRITE);
	expect_effect(1, middle + 8, 4, ACCESS_WRITE);
	assert_memory_equal(bytes + SIZE / 2 + 8, "\3\0\0", 4);
	assert_int_equal(cpu.regs.rdi, middle);
	/* Over two pages the rights of both would count: it is stepped. */
	cpu.regs.rdi = BASE + SIZE - 8;
	assert_int_equal(run("\x66\x0f\xf7\xc2", 4), EXECUTE_STEP);
}

/* vmovdqu8 [rdi]{k1}, zmm0: every other byte is as many runs as can be */
static void test_runs(void **state)
{
	const struct xstate *machine = xstate_machine();

	if (!machine->component[5].size)
		skip();
	begin();
	xstate_set_mask(machine, &cpu, 1, UINT64_C(0x5555555555555555));
	assert_int_equal(run("\x62\xf1\x7f\x49\x7f\x07", 6), EXECUTE_DONE);
	assert_int_equal(count, ACCESS_MAX);
	expect_effect(31, BASE + SIZE / 2 + 62, 1, ACCESS_WRITE);
	/* vaddpd zmm0{k1}, zmm0, [rdi]{1to8}: one element for all lanes */
	assert_int_equal(run("\x62\xf1\xfd\x59\x58\x07", 6), EXECUTE_DONE);
	assert_int_equal(count, 1);
	expect_effect(0, BASE + SIZE / 2, 8, ACCESS_READ);
	xstate_set_mask(machine, &cpu, 1, 0);
	assert_int_equal(run("\x62\xf1\xfd\x59\x58\x07", 6), EXECUTE_DONE);
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gather),	cmocka_unit_test(test_declined),
		cmocka_unit_test(test_scatter), cmocka_unit_test(test_maskmov),
		cmocka_unit_test(test_runs),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
