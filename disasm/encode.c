/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/encode.h"
#include "disasm/registers.h"

static void put(struct encoding *encoding, uint8_t byte)
{
	encoding->bytes[encoding->length++] = byte;
}

/* Whether vvvv names a general register: BMI, and nothing else. */
static bool vvvv_general(const struct insn *insn)
{
	return (insn->encoding == INSN_VEX2 || insn->encoding == INSN_VEX3) &&
	       !insn->vector_in;
}

unsigned encode_stand_in(const struct insn *insn)
{
	bool reg = insn->general && insn->reg == RSP;
	bool vvvv = vvvv_general(insn);

	if (!reg && !(vvvv && insn->vvvv == RSP))
		return 0;
	/* No form that we run uses rsi or rdi without naming it. */
	if (vvvv && insn->vvvv == RSI)
		return RDI;
	return insn->general && insn->reg == RSI ? RDI : RSI;
}

static void put_legacy(const struct insn *insn, struct encoding *ret)
{
	static const uint8_t moffs[] = { 0x8a, 0x8b, 0x88, 0x89 };

	if (insn->operand16)
		put(ret, 0x66);
	if (insn->repeat)
		put(ret, insn->repeat);
	if (insn->lock)
		put(ret, 0xf0);
	/* No index and no base; with an address in place of ModRM no reg. */
	if (insn->rex && insn->implied)
		put(ret, insn->rex);
	else if (insn->rex)
		put(ret, insn->rex & (insn->modrm < 0 ? ~7 : ~3));
	if (insn->map > 0)
		put(ret, 0x0f);
	if (insn->map > 1)
		put(ret, insn->map == 2 ? 0x38 : 0x3a);
	put(ret, insn->modrm < 0 ? moffs[insn->opcode & 3] : insn->opcode);
}

/* X and B are inverted: set where there is no register to extend. */
static void put_vector(const struct insn *insn, struct encoding *ret,
		       unsigned stand_in)
{
	unsigned size = insn->encoding == INSN_EVEX   ? 4
			: insn->encoding == INSN_VEX3 ? 3
						      : 2;
	const uint8_t *from = insn->bytes + insn->modrm - 1 - size;

	for (unsigned i = 0; i < size; i++) {
		uint8_t byte = from[i];

		if (i == 1 && size > 2 && !insn->implied)
			byte |= 0x60;
		/* vvvv, inverted */
		if (stand_in && insn->vvvv == RSP && i == size - 1)
			byte = (byte & ~0x78) | (~stand_in & 15) << 3;
		put(ret, byte);
	}
	put(ret, insn->opcode);
}

void encode(const struct insn *insn, struct encoding *ret)
{
	unsigned stand_in = encode_stand_in(insn);
	uint8_t reg = insn->modrm < 0 ? 0 : insn->reg & 7;

	ret->length = 0;
	ret->displacement = 0;
	if (insn->encoding == INSN_LEGACY)
		put_legacy(insn, ret);
	else
		put_vector(insn, ret, vvvv_general(insn) ? stand_in : 0);
	if (insn->implied) {
		put(ret, insn->bytes[insn->modrm]);
		return;
	}
	if (stand_in && insn->general && insn->reg == RSP)
		reg = stand_in;
	put(ret, reg << 3 | 5);
	ret->displacement = ret->length;
	ret->length += 4;
	for (unsigned i = insn->immediate; i < insn->length; i++)
		put(ret, insn->bytes[i]);
}
