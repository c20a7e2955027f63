/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "disasm/access.h"
#include "tests/unit/rowbytes.h"

/* Our table against that of somebody else, for each of its rows. */
struct both {
	struct random random;
	ZydisDecoder decoder;
	unsigned compared, wrong;
};

static const ZydisDecodedOperand *
find_memory(const ZydisDecodedInstruction *z,
	    const ZydisDecodedOperand *operand)
{
	for (unsigned i = 0; i < z->operand_count_visible; i++)
		if (operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operand[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
			return &operand[i];
	return NULL;
}

static unsigned op_of(const ZydisDecodedOperand *operand)
{
	return (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? ACCESS_READ
								  : 0) |
	       (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
			? ACCESS_WRITE
			: 0);
}

/* Zydis gives the whole line for clflush, and a guess for xsave. */
static bool sized_otherwise(const struct insn *insn)
{
	return insn->kind == INSN_STEP && insn->size < 2;
}

static bool same(const struct insn *insn, const ZydisDecodedInstruction *z,
		 const ZydisDecodedOperand *memory)
{
	uint64_t difference;

	if (insn->length != z->length)
		return false;
	/* An absolute address alone Zydis gives as signed. */
	if (insn->kind == INSN_NONE || !memory || insn->modrm < 0)
		return true;
	if (!insn->memory || insn->op != op_of(memory))
		return false;
	if (!sized_otherwise(insn) && insn->size != memory->size / 8)
		return false;
	/* With 67 and REX.B Zydis 4.0 gives a base to a SIB that has none. */
	if (insn->address32 && insn->base < 0)
		return true;
	difference = insn->offset;
	if (memory->mem.disp.has_displacement)
		difference -= memory->mem.disp.value;
	return (insn->address32 ? (uint32_t)difference : difference) == 0;
}

static void compare(struct both *both, const uint8_t bytes[INSN_BYTES])
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	struct insn insn;

	if (insn_decode(bytes, INSN_BYTES, &insn) != 0 ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&both->decoder, bytes,
						 INSN_BYTES, &z, operands)))
		return;
	both->compared++;
	if (same(&insn, &z, find_memory(&z, operands)) || both->wrong++ > 20)
		return;
	print_error("%s, op %u, size %u, offset %ld:",
		    ZydisMnemonicGetString(z.mnemonic), insn.op, insn.size,
		    insn.offset);
	for (unsigned i = 0; i < z.length; i++)
		print_error(" %02x", bytes[i]);
	print_error("\n");
}

static void compare_rows(enum insn_encoding encoding, const struct rows *maps)
{
	struct both both = { .random = { 4711 } };
	uint8_t bytes[INSN_BYTES];

	ZydisDecoderInit(&both.decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	for (unsigned map = 0; map < 4; map++)
		for (size_t i = 0; i < maps[map].count; i++)
			for (unsigned k = 0; k < 400; k++)
				if (rowbytes(&both.random, encoding, map,
					     &maps[map].rows[i], k % 4, bytes))
					compare(&both, bytes);
	print_message("%u compared\n", both.compared);
	assert_int_equal(both.wrong, 0);
	assert_true(both.compared > 1000);
}

static void test_legacy(void **state)
{
	compare_rows(INSN_LEGACY, rows_legacy);
}

static void test_vex(void **state)
{
	compare_rows(INSN_VEX3, rows_vex);
}

static void test_evex(void **state)
{
	compare_rows(INSN_EVEX, rows_evex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_vex),
		cmocka_unit_test(test_evex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
