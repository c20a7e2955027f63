/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "disasm/registers.h"
#include "tests/unit/tally.h"

static struct scene scene;

/* An address at or near which operands may overlap, or leave the window. */
static uint64_t near(uint64_t addr)
{
	if (random_below(&scene.random, 3) == 0)
		return addr + random_below(&scene.random, 41) - 20;
	if (random_below(&scene.random, 4) == 0)
		return ORACLE_WINDOW +
		       random_below(&scene.random, 40) * (ORACLE_SIZE / 39);
	return ORACLE_WINDOW + 1024 + random_below(&scene.random, 4096);
}

/* Few different bytes, so that comparisons go on for a while. */
static void make_alike(void)
{
	unsigned kinds = 1 + random_below(&scene.random, 3);

	for (size_t i = 0; i < ORACLE_SIZE; i++)
		scene.before[i] = random_below(&scene.random, 64)
					  ? 0
					  : random_below(&scene.random, kinds);
	if (random_below(&scene.random, 2))
		scene.start.regs.rax = random_below(&scene.random, 2);
}

static void set_string(uint8_t bytes[INSN_BYTES])
{
	static const uint8_t prefixes[] = { 0x66, 0x67, 0xf2, 0xf3,
					    0xf3, 0x64, 0x65, 0x2e };
	static const uint8_t opcodes[] = { 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab,
					   0xac, 0xad, 0xae, 0xaf, 0xd7 };
	unsigned n = random_below(&scene.random, 4), at = 0;

	while (at < n)
		bytes[at++] = prefixes[random_below(&scene.random, 8)];
	if (random_below(&scene.random, 3) == 0)
		bytes[at++] = 0x48 | random_below(&scene.random, 8);
	bytes[at++] = opcodes[random_below(&scene.random, sizeof(opcodes))];
}

static void aim_string(void)
{
	struct user_regs_struct *regs = &scene.start.regs;
	uint64_t base = 0;

	if (scene.insn.segment == 0x64)
		base = regs->fs_base = 0x10000;
	else if (scene.insn.segment == 0x65)
		base = regs->gs_base = 0x20000;
	regs->rdi = near(ORACLE_WINDOW + 2048);
	regs->rsi = near(regs->rdi) - base;
	regs->rcx = random_below(&scene.random, 400);
	if (random_below(&scene.random, 8) == 0)
		regs->rcx = random_below(&scene.random, 3);
	if (random_below(&scene.random, 2))
		regs->eflags |= FLAG_DF;
	if (scene.insn.opcode == 0xd7)
		regs->rbx = near(ORACLE_WINDOW + 2048) - base;
	/* Only the lower half counts. */
	if (scene.insn.address32) {
		regs->rdi |= random_next(&scene.random) << 32;
		regs->rsi |= random_next(&scene.random) << 32;
		regs->rbx |= random_next(&scene.random) << 32;
		if (random_below(&scene.random, 2))
			regs->rcx |= random_next(&scene.random) << 32;
	}
}

static void test_strings(void **state)
{
	uint8_t bytes[INSN_BYTES];
	struct tally tally = { 0 };

	tally_begin(&scene, tally_seed() + 6);
	for (unsigned i = 0; i < tally_times(600); i++) {
		memset(bytes, 0x90, sizeof(bytes));
		set_string(bytes);
		assert_int_equal(insn_decode(bytes, INSN_BYTES, &scene.insn),
				 0);
		assert_int_equal(scene.insn.kind, INSN_STRING);
		scene_state(&scene);
		aim_string();
		if (random_below(&scene.random, 2))
			make_alike();
		scene_run(&scene);
		tally_judge(&tally, &scene);
	}
	tally_end(&tally, &scene);
}

static void set_stack(uint8_t bytes[INSN_BYTES])
{
	static const uint8_t opcodes[] = { 0x50, 0x58, 0x68, 0x6a, 0x8f,
					   0x9c, 0x9d, 0xc2, 0xc3, 0xc8,
					   0xc9, 0xe8, 0xff, 0xff, 0xff };
	static const uint8_t groups[] = { 2, 4, 6 };
	unsigned at = 0;
	uint8_t opcode = opcodes[random_below(&scene.random, sizeof(opcodes))];
	uint8_t reg =
		opcode == 0x8f ? 0 : groups[random_below(&scene.random, 3)];

	for (unsigned i = 0; i < INSN_BYTES; i++)
		bytes[i] = random_next(&scene.random) >> 32;
	if (random_below(&scene.random, 4) == 0)
		bytes[at++] = 0x66;
	if (random_below(&scene.random, 8) == 0)
		bytes[at++] = 0x64 | random_below(&scene.random, 2);
	if (random_below(&scene.random, 2))
		bytes[at++] = 0x40 | random_below(&scene.random, 16);
	if (opcode < 0x60)
		opcode += random_below(&scene.random, 8);
	bytes[at++] = opcode;
	if (opcode == 0x8f || opcode == 0xff)
		bytes[at] = (bytes[at] & 0xc7) | reg << 3;
	if (opcode == 0xc8 && random_below(&scene.random, 4))
		bytes[at + 2] = 0;
}

/* Branch targets that can be gone to, flags that do not trap. */
static void make_reachable(void)
{
	for (size_t i = 0; i < ORACLE_SIZE; i += 8) {
		scene.before[i + 1] &= 0xfe;
		scene.before[i + 2] &= ~0x24;
		memset(scene.before + i + 4, 0, 4);
	}
}

static bool aim_stack(uint8_t bytes[INSN_BYTES])
{
	struct user_regs_struct *regs = &scene.start.regs;
	uint64_t top =
		ORACLE_WINDOW + 4096 + 8 * random_below(&scene.random, 64);

	if (scene.insn.memory && !scene_aim(&scene, bytes))
		return false;
	/* popf must not get at ID: nothing could clear it in the child. */
	if (scene.insn.opcode == 0x9d)
		top &= ~UINT64_C(7);
	else if (random_below(&scene.random, 16) == 0)
		top = ORACLE_WINDOW + random_below(&scene.random, 16);
	else if (random_below(&scene.random, 16) == 0)
		top = ORACLE_WINDOW + ORACLE_SIZE -
		      random_below(&scene.random, 16);
	if (!scene.insn.memory ||
	    (scene.insn.base != RSP && scene.insn.index != RSP))
		regs->rsp = top;
	if (scene.insn.opcode == 0xc9)
		regs->rbp = top + 64;
	/* A branch through a register, to somewhere that exists. */
	if (scene.insn.opcode == 0xff && !scene.insn.memory &&
	    (scene.insn.reg & 7) != 6)
		for (unsigned i = 0; i < REGISTERS; i++)
			if (i != RSP)
				register_set(regs, i, 0x12345678 + i);
	return true;
}

static void test_stack(void **state)
{
	uint8_t bytes[INSN_BYTES];
	struct tally tally = { 0 };

	tally_begin(&scene, tally_seed() + 10);
	for (unsigned i = 0; i < tally_times(1500); i++) {
		set_stack(bytes);
		if (insn_decode(bytes, INSN_BYTES, &scene.insn) != 0 ||
		    scene.insn.kind != INSN_STACK)
			continue;
		scene_state(&scene);
		if (!aim_stack(bytes))
			continue;
		make_reachable();
		scene_run(&scene);
		tally_judge(&tally, &scene);
	}
	tally_end(&tally, &scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
