/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "disasm/ahead_parts.h"
#include "tests/unit/rowbytes.h"

static bool is_rsp(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						reg) == ZYDIS_REGISTER_RSP;
}

static const ZydisInstructionCategory harmful[] = {
	ZYDIS_CATEGORY_AMX_TILE,  ZYDIS_CATEGORY_CALL,
	ZYDIS_CATEGORY_CET,	  ZYDIS_CATEGORY_COND_BR,
	ZYDIS_CATEGORY_INTERRUPT, ZYDIS_CATEGORY_IO,
	ZYDIS_CATEGORY_KEYLOCKER, ZYDIS_CATEGORY_POP,
	ZYDIS_CATEGORY_PUSH,	  ZYDIS_CATEGORY_RDRAND,
	ZYDIS_CATEGORY_RDSEED,	  ZYDIS_CATEGORY_RDWRFSGS,
	ZYDIS_CATEGORY_RET,	  ZYDIS_CATEGORY_SEGOP,
	ZYDIS_CATEGORY_STRINGOP,  ZYDIS_CATEGORY_SYSCALL,
	ZYDIS_CATEGORY_SYSRET,	  ZYDIS_CATEGORY_SYSTEM,
	ZYDIS_CATEGORY_UNCOND_BR, ZYDIS_CATEGORY_VTX,
	ZYDIS_CATEGORY_XSAVE,
};

/* By what somebody else knows of it: it may run in our own process. */
static bool is_harmless(const ZydisDecodedInstruction *z,
			const ZydisDecodedOperand *operand)
{
	for (unsigned i = 0; i < z->operand_count; i++) {
		if (operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operand[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
			return false;
		if (operand[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (is_rsp(operand[i].reg.value) ||
		     operand[i].reg.value == ZYDIS_REGISTER_RIP))
			return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(harmful); i++)
		if (z->meta.category == harmful[i])
			return false;
	return !(z->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED);
}

/* Every opcode of every map, with each prefix and all ModRM of registers. */
static void make(struct random *random, unsigned i, uint8_t bytes[INSN_BYTES])
{
	static const uint8_t prefixes[] = { 0, 0x66, 0xf2, 0xf3 };
	static const uint8_t rex[] = { 0, 0x40, 0x41, 0x44, 0x48, 0x4d };
	unsigned at = 0, map = i >> 8 & 3, opcode = i & 0xff;

	for (unsigned k = 0; k < INSN_BYTES; k++)
		bytes[k] = random_next(random) >> 24;
	if (i & 0x400) { /* VEX or EVEX */
		bytes[0] = i & 0x800 ? 0x62 : 0xc4;
		bytes[1] = (bytes[1] & 0xe0) | (map ? map : 1);
		at = bytes[0] == 0x62 ? 4 : 3;
		if (bytes[0] == 0x62)
			bytes[2] |= 4;
	} else {
		uint8_t p = prefixes[random_below(random, 4)];
		uint8_t r = rex[random_below(random, 6)];

		if (p)
			bytes[at++] = p;
		if (r)
			bytes[at++] = r;
		if (map > 0)
			bytes[at++] = 0x0f;
		if (map > 1)
			bytes[at++] = map == 2 ? 0x38 : 0x3a;
	}
	bytes[at++] = opcode;
	bytes[at] |= 0xc0;
}

static void test_harmless_and_as_long(void **state)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct random random = { 20 };
	unsigned compared = 0, wrong = 0;
	ZydisDecodedInstruction z;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	for (unsigned i = 0; i < 1 << 20; i++) {
		uint8_t bytes[INSN_BYTES];
		struct ahead_code code;
		struct insn insn;

		make(&random, i, bytes);
		if (insn_decode(bytes, sizeof(bytes), &insn) != 0 ||
		    !ahead_code(&insn, &code))
			continue;
		/* What runs is what was made of it. */
		memcpy(bytes, code.bytes, insn.length);
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
			    &decoder, bytes, sizeof(bytes), &z, operands)))
			continue;
		compared++;
		if (z.length == insn.length && is_harmless(&z, operands))
			continue;
		if (wrong++ > 20)
			continue;
		print_error("%s, %u bytes:", ZydisMnemonicGetString(z.mnemonic),
			    z.length);
		for (unsigned k = 0; k < insn.length; k++)
			print_error(" %02x", bytes[k]);
		print_error("\n");
	}
	print_message("%u compared\n", compared);
	assert_int_equal(wrong, 0);
	assert_true(compared > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_harmless_and_as_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
