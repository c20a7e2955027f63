/* SPDX-License-Identifier: Apache-2.0 */
#include <Zydis/Zydis.h>

#include "disasm/encode.h"
#include "tests/fuzz/allowed.h"
#include "tests/fuzz/fuzz.h"

/* Control flow, the stack, the system, other memory than the operand. */
static bool forbidden(ZydisInstructionCategory category)
{
	switch ((int)category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_STRINGOP:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_CET:
	case ZYDIS_CATEGORY_RDWRFSGS:
	case ZYDIS_CATEGORY_PKU:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_GATHER:
	case ZYDIS_CATEGORY_SCATTER:
	case ZYDIS_CATEGORY_AMX_TILE:
		return true;
	default:
		return false;
	}
}

/* The operand, relative to rip; a maskmov's at rdi. */
static void check_memory(const struct insn *insn,
			 const ZydisDecodedOperand *operand)
{
	ZydisRegister base =
		insn->implied ? ZYDIS_REGISTER_RDI : ZYDIS_REGISTER_RIP;

	expect(operand->mem.type == ZYDIS_MEMOP_TYPE_MEM);
	expect(operand->mem.base == base);
	expect(operand->mem.index == ZYDIS_REGISTER_NONE);
	expect(operand->mem.segment != ZYDIS_REGISTER_FS &&
	       operand->mem.segment != ZYDIS_REGISTER_GS);
}

void check_allowed(const struct insn *insn)
{
	static ZydisDecoder decoder;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	struct encoding encoding;
	unsigned memory = 0;

	if (!decoder.stack_width)
		expect(ZYAN_SUCCESS(ZydisDecoderInit(&decoder,
						     ZYDIS_MACHINE_MODE_LONG_64,
						     ZYDIS_STACK_WIDTH_64)));
	memset(&encoding, 0, sizeof(encoding));
	encode(insn, &encoding);
	expect(encoding.length <= INSN_BYTES);
	/* What nobody knows raises #UD. */
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, encoding.bytes,
						 encoding.length, &z, operand)))
		return;
	expect(z.length == encoding.length);
	expect(!forbidden(z.meta.category));
	expect(!(z.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED));
	for (unsigned i = 0; i < z.operand_count; i++) {
		const ZydisDecodedOperand *o = &operand[i];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			check_memory(insn, o);
			memory++;
		}
		expect(o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		       !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ||
		       ZydisRegisterGetLargestEnclosing(
			       ZYDIS_MACHINE_MODE_LONG_64, o->reg.value) !=
			       ZYDIS_REGISTER_RSP);
	}
	expect(memory == 1);
}
