/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/aim.h"
#include "tests/unit/tally.h"

static struct scene scene;

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
		assert_true(aim(&scene, bytes));
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
		if (!aim(&scene, bytes))
			continue;
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
