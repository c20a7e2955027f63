/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "disasm/registers.h"
#include "tests/unit/aim.h"
#include "tests/unit/tally.h"

static struct scene scene;

static void try(const uint8_t *from, struct tally *tally)
{
	uint8_t bytes[INSN_BYTES];

	memcpy(bytes, from, INSN_BYTES);
	if (insn_decode(bytes, INSN_BYTES, &scene.insn) != 0 ||
	    (scene.insn.kind != INSN_NATIVE && scene.insn.kind != INSN_GATHER))
		return;
	scene_state(&scene);
	if (!aim(&scene, bytes))
		return;
	scene_run(&scene);
	tally_judge(tally, &scene);
}

static void try_rows(enum insn_encoding encoding, const struct rows *maps,
		     unsigned n, unsigned times, struct tally *tally)
{
	uint8_t bytes[INSN_BYTES];

	for (unsigned map = 0; map < n; map++)
		for (size_t i = 0; i < maps[map].count; i++)
			for (unsigned prefix = 0; prefix < 4; prefix++)
				for (unsigned k = 0; k < times; k++)
					if (rowbytes(&scene.random, encoding,
						     map, &maps[map].rows[i],
						     prefix, bytes))
						try(bytes, tally);
}

static void test_rows(enum insn_encoding encoding, const struct rows *maps,
		      unsigned each)
{
	struct tally tally = { 0 };

	tally_begin(&scene, tally_seed());
	try_rows(encoding, maps, 4, tally_times(each), &tally);
	tally_end(&tally, &scene);
}

static void test_legacy(void **state)
{
	test_rows(INSN_LEGACY, rows_legacy, 4);
}

static void test_vex(void **state)
{
	test_rows(INSN_VEX3, rows_vex, 8);
}

static void test_evex(void **state)
{
	test_rows(INSN_EVEX, rows_evex, 12);
}

/* Memory in which every address can be read and nothing is kept. */
static int anything_read(void *context, uint64_t addr, void *buffer,
			 size_t size)
{
	memset(buffer, addr & 0xff, size);
	return 0;
}

static int anything_write(void *context, uint64_t addr, const void *buffer,
			  size_t size)
{
	return 0;
}

static const struct memory anything = { NULL, anything_read, anything_write };

/* A cpu with plausible vector state of this machine. */
static void make_cpu(struct random *random, struct cpu *cpu)
{
	uint64_t map = 7;

	memset(cpu->xstate, 0, 4096);
	memcpy(cpu->xstate, "\x7f\x03", 2);
	memcpy(cpu->xstate + 24, "\x80\x1f", 2);
	memcpy(cpu->xstate + 512, &map, 8);
	cpu->xstate_size = 4096;
	cpu->regs = (struct user_regs_struct){ .rip = 0x400000, .eflags = 2 };
	for (unsigned i = 0; i < REGISTERS; i++)
		register_set(&cpu->regs, i, random_next(random));
}

/*
 * Whatever bytes come, nothing but the struct cpu changes: we come back, with
 * our own floating point, direction and stack.
 */
static void test_any_bytes(void **state)
{
	_cleanup_(execute_freep) struct execute *execute = NULL;
	_cleanup_(freep) uint8_t *xstate = aligned_alloc(64, XSTATE_MAX);
	struct cpu cpu = { .xstate = xstate };
	struct random random = { 12345 };
	struct effect effects[ACCESS_MAX];
	unsigned n = tally_times(300000), count, done = 0;

	assert_non_null(xstate);
	assert_int_equal(execute_new(&execute), 0);
	make_cpu(&random, &cpu);
	for (unsigned i = 0; i < n; i++) {
		uint8_t bytes[INSN_BYTES];
		struct insn insn;
		int r;

		for (unsigned k = 0; k < INSN_BYTES; k++)
			bytes[k] = random_next(&random) >> 32;
		if (i % 4 == 0)
			bytes[0] = 0x0f;
		else if (i % 4 == 1)
			bytes[0] = i & 8 ? 0xc4 : 0x62;
		r = insn_decode(bytes, 1 + i % INSN_BYTES, &insn);
		assert_true(r == 0 || r == -EILSEQ || r == -ENODATA);
		if (r != 0)
			continue;
		assert_in_range(insn.length, 1, INSN_BYTES);
		if (i % 64 == 0)
			make_cpu(&random, &cpu);
		r = execute_run(execute, &insn, &cpu, &anything, effects,
				&count);
		assert_true(r == EXECUTE_DONE || r == EXECUTE_STEP);
		assert_in_range(count, 0, ACCESS_MAX);
		done += r == EXECUTE_DONE;
	}
	assert_true(done > n / 20);
	assert_true(1.0 / 3.0 * 3.0 == 1.0L);
}

struct failing {
	unsigned reads, writes; /* that go well before one fails */
};

static int failing_read(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct failing *failing = context;

	memset(buffer, 1, size);
	return failing->reads-- ? 0 : -EFAULT;
}

static int failing_write(void *context, uint64_t addr, const void *buffer,
			 size_t size)
{
	struct failing *failing = context;

	return failing->writes-- ? 0 : -ESRCH;
}

/* An error of memory comes through, and the thread is as it was. */
static void test_memory_fails(void **state)
{
	static const struct {
		const char *bytes;
		unsigned length, reads, writes;
		int error;
	} cases[] = {
		{ "\x01\x07", 2, 0, 0, -EFAULT }, /* add [rdi], eax */
		{ "\x01\x07", 2, 1, 0, -ESRCH },
		{ "\x8b\x07", 2, 0, 0, -EFAULT },    /* mov eax, [rdi] */
		{ "\x89\x07", 2, 0, 0, -EFAULT },    /* mov [rdi], eax */
		{ "\xdd\x1f", 2, 1, 0, -ESRCH },     /* fstp qword [rdi] */
		{ "\x0f\x11\x07", 3, 1, 0, -ESRCH }, /* movups [rdi], xmm0 */
		{ "\x50", 1, 1, 0, -ESRCH },	     /* push rax */
		{ "\x58", 1, 0, 0, -EFAULT },	     /* pop rax */
		{ "\xff\x37", 2, 2, 0, -ESRCH },     /* push [rdi] */
		{ "\xa4", 1, 2, 0, -ESRCH },	     /* movsb */
		{ "\xaa", 1, 1, 0, -ESRCH },	     /* stosb */
		{ "\xac", 1, 0, 0, -EFAULT },	     /* lodsb */
		{ "\xa6", 1, 1, 0, -EFAULT },	     /* cmpsb */
	};
	_cleanup_(execute_freep) struct execute *execute = NULL;
	_cleanup_(freep) uint8_t *xstate = aligned_alloc(64, XSTATE_MAX);
	_cleanup_(freep) uint8_t *before = aligned_alloc(64, XSTATE_MAX);
	struct cpu cpu = { .xstate = xstate };
	struct random random = { 99 };

	assert_int_equal(execute_new(&execute), 0);
	make_cpu(&random, &cpu);
	/* One number on the x87 stack, for fstp. */
	xstate[3] = 7 << 3;
	xstate[4] = 0x80;
	memcpy(before, xstate, cpu.xstate_size);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct failing failing = { cases[i].reads, cases[i].writes };
		struct memory memory = { &failing, failing_read,
					 failing_write };
		struct user_regs_struct regs = cpu.regs;
		struct effect effects[ACCESS_MAX];
		struct insn insn;
		unsigned count;

		assert_int_equal(insn_decode((const uint8_t *)cases[i].bytes,
					     cases[i].length, &insn),
				 0);
		assert_int_equal(execute_run(execute, &insn, &cpu, &memory,
					     effects, &count),
				 cases[i].error);
		assert_memory_equal(&regs, &cpu.regs, sizeof(regs));
		assert_memory_equal(before, xstate, cpu.xstate_size);
		assert_int_equal(count, 0);
	}
}

static volatile sig_atomic_t seen;
static sigjmp_buf back;

static void own_handler(int number)
{
	seen = number;
	siglongjmp(back, 1);
}

/* Faults that are not of our code go to the handler that was there. */
static void test_other_faults(void **state)
{
	_cleanup_(execute_freep) struct execute *execute = NULL;
	struct execute *second = NULL;
	struct sigaction own = { .sa_handler = own_handler }, old, now;
	char *volatile nowhere = (char *)8;

	assert_int_equal(sigaction(SIGSEGV, &own, &old), 0);
	assert_int_equal(execute_new(&execute), 0);
	assert_int_equal(execute_new(&second), -EBUSY);
	assert_null(second);
	seen = 0;
	if (sigsetjmp(back, 1) == 0)
		*(volatile char *)nowhere = 1;
	assert_int_equal(seen, SIGSEGV);
	execute_free(take(execute));
	assert_int_equal(sigaction(SIGSEGV, &old, &now), 0);
	assert_ptr_equal(now.sa_handler, own_handler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_vex),
		cmocka_unit_test(test_evex),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_memory_fails),
		cmocka_unit_test(test_other_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
