/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/ahead_parts.h"
#include "disasm/registers.h"

/*
 * The list of instructions that may run on a thread's registers in our own
 * process.  Their bytes were chosen by the target: what is not here does not
 * run.  None jumps, calls the kernel, needs privileges, reads time or
 * identity of the processor, touches memory, a segment, the shadow stack, or
 * protection keys.  What is here and does not exist raises #UD, and is caught.
 */

/* Which operands are general registers. */
enum {
	REG = 1 << 0,	 /* ModRM.reg */
	RM = 1 << 1,	 /* ModRM.rm */
	VVVV = 1 << 2,	 /* of VEX */
	OPCODE = 1 << 3, /* the low bits of the opcode */
	BYTE = 1 << 4,	 /* of bytes: 4 is AH without REX, then SPL */
	PLAIN = 1 << 5,	 /* and no other is used: one may stand in for rsp */
	VECTOR = 1 << 6,
	WIDER = 1 << 7, /* with BYTE: ModRM.reg is not of bytes */
};

enum { NP = 1, P66 = 2, PF3 = 4, PF2 = 8, ANY = 15 };

struct form {
	uint8_t first, last;
	uint8_t prefixes; /* bits by insn->prefix */
	uint8_t regs;	  /* bits by the low three of ModRM.reg */
	uint8_t flags;
};

struct list {
	const struct form *form;
	size_t count;
};

#define ALL 0xff
#define ALU(n)                                                                 \
	{ (n), (n), ANY, ALL, REG | RM | BYTE },                               \
		{ (n) + 1, (n) + 1, ANY, ALL, REG | RM | PLAIN },              \
		{ (n) + 2, (n) + 2, ANY, ALL, REG | RM | BYTE },               \
		{ (n) + 3, (n) + 3, ANY, ALL, REG | RM | PLAIN },              \
	{                                                                      \
		(n) + 4, (n) + 5, ANY, ALL, 0                                  \
	}

static const struct form legacy0[] = {
	ALU(0x00),
	ALU(0x08),
	ALU(0x10),
	ALU(0x18),
	ALU(0x20),
	ALU(0x28),
	ALU(0x30),
	ALU(0x38),
	{ 0x63, 0x63, ANY, ALL, REG | RM | PLAIN },
	{ 0x69, 0x69, ANY, ALL, REG | RM | PLAIN },
	{ 0x6b, 0x6b, ANY, ALL, REG | RM | PLAIN },
	{ 0x80, 0x80, ANY, ALL, RM | BYTE },
	{ 0x81, 0x81, ANY, ALL, RM | PLAIN },
	{ 0x83, 0x83, ANY, ALL, RM | PLAIN },
	{ 0x84, 0x84, ANY, ALL, REG | RM | BYTE },
	{ 0x85, 0x85, ANY, ALL, REG | RM | PLAIN },
	{ 0x86, 0x86, ANY, ALL, REG | RM | BYTE },
	{ 0x87, 0x87, ANY, ALL, REG | RM | PLAIN },
	{ 0x88, 0x88, ANY, ALL, REG | RM | BYTE },
	{ 0x89, 0x89, ANY, ALL, REG | RM | PLAIN },
	{ 0x8a, 0x8a, ANY, ALL, REG | RM | BYTE },
	{ 0x8b, 0x8b, ANY, ALL, REG | RM | PLAIN },
	{ 0x90, 0x97, NP | P66, ALL, OPCODE }, /* F3 90 is pause */
	{ 0x98, 0x99, ANY, ALL, 0 },
	{ 0x9e, 0x9f, ANY, ALL, 0 },
	{ 0xa8, 0xa9, ANY, ALL, 0 },
	{ 0xb0, 0xb7, ANY, ALL, OPCODE | BYTE },
	{ 0xb8, 0xbf, ANY, ALL, OPCODE },
	{ 0xc0, 0xc0, ANY, 0xbf, RM | BYTE },
	{ 0xc1, 0xc1, ANY, 0xbf, RM | PLAIN },
	{ 0xc6, 0xc6, ANY, 0x01, RM | BYTE },
	{ 0xc7, 0xc7, ANY, 0x01, RM | PLAIN },
	{ 0xd0, 0xd0, ANY, 0xbf, RM | BYTE },
	{ 0xd1, 0xd1, ANY, 0xbf, RM | PLAIN },
	{ 0xd2, 0xd2, ANY, 0xbf, RM | BYTE },
	{ 0xd3, 0xd3, ANY, 0xbf, RM },
	{ 0xf5, 0xf5, ANY, ALL, 0 },
	{ 0xf6, 0xf6, ANY, 0xfd, RM | BYTE },
	{ 0xf7, 0xf7, ANY, 0x0d, RM | PLAIN },
	{ 0xf7, 0xf7, ANY, 0xf0, RM },
	{ 0xf8, 0xf9, ANY, ALL, 0 },
	{ 0xfe, 0xfe, ANY, 0x03, RM | BYTE },
	{ 0xff, 0xff, ANY, 0x03, RM | PLAIN },
};

static const struct form legacy1[] = {
	{ 0x40, 0x4f, ANY, ALL, REG | RM | PLAIN },
	{ 0x7e, 0x7e, NP, ALL, RM | VECTOR },
	{ 0x90, 0x9f, ANY, ALL, RM | BYTE },
	{ 0xa3, 0xa3, ANY, ALL, REG | RM | PLAIN },
	{ 0xa4, 0xa4, ANY, ALL, REG | RM | PLAIN },
	{ 0xa5, 0xa5, ANY, ALL, REG | RM },
	{ 0xab, 0xab, ANY, ALL, REG | RM | PLAIN },
	{ 0xac, 0xac, ANY, ALL, REG | RM | PLAIN },
	{ 0xad, 0xad, ANY, ALL, REG | RM },
	{ 0xaf, 0xaf, ANY, ALL, REG | RM | PLAIN },
	{ 0xb0, 0xb0, ANY, ALL, REG | RM | BYTE },
	{ 0xb1, 0xb1, ANY, ALL, REG | RM },
	{ 0xb3, 0xb3, ANY, ALL, REG | RM | PLAIN },
	{ 0xb6, 0xb6, ANY, ALL, REG | RM | BYTE | WIDER },
	{ 0xb7, 0xb7, ANY, ALL, REG | RM | PLAIN },
	{ 0xb8, 0xb8, PF3, ALL, REG | RM | PLAIN },
	{ 0xba, 0xba, ANY, 0xf0, RM | PLAIN },
	{ 0xbb, 0xbd, ANY, ALL, REG | RM | PLAIN },
	{ 0xbe, 0xbe, ANY, ALL, REG | RM | BYTE | WIDER },
	{ 0xbf, 0xbf, ANY, ALL, REG | RM | PLAIN },
	{ 0xc0, 0xc0, ANY, ALL, REG | RM | BYTE },
	{ 0xc1, 0xc1, ANY, ALL, REG | RM | PLAIN },
	{ 0xc8, 0xcf, ANY, ALL, OPCODE },
};

static const struct form legacy2[] = {
	{ 0x00, 0x0b, NP | P66, ALL, VECTOR },
	{ 0x10, 0x10, P66, ALL, VECTOR },
	{ 0x14, 0x15, P66, ALL, VECTOR },
	{ 0x17, 0x17, P66, ALL, VECTOR },
	{ 0x1c, 0x1e, NP | P66, ALL, VECTOR },
	{ 0x20, 0x25, P66, ALL, VECTOR },
	{ 0x28, 0x29, P66, ALL, VECTOR },
	{ 0x2b, 0x2b, P66, ALL, VECTOR },
	{ 0x30, 0x35, P66, ALL, VECTOR },
	{ 0x37, 0x41, P66, ALL, VECTOR },
	{ 0xc8, 0xcd, NP, ALL, VECTOR },
	{ 0xcf, 0xcf, P66, ALL, VECTOR },
	{ 0xdb, 0xdf, P66, ALL, VECTOR },
	{ 0xf0, 0xf0, PF2, ALL, REG | RM | BYTE | WIDER },
	{ 0xf1, 0xf1, PF2, ALL, REG | RM },
	{ 0xf6, 0xf6, P66 | PF3, ALL, REG | RM },
};

static const struct form legacy3[] = {
	{ 0x08, 0x0e, P66, ALL, VECTOR },
	{ 0x0f, 0x0f, NP | P66, ALL, VECTOR },
	{ 0x14, 0x17, P66, ALL, RM | VECTOR },
	{ 0x20, 0x20, P66, ALL, RM | VECTOR },
	{ 0x21, 0x21, P66, ALL, VECTOR },
	{ 0x22, 0x22, P66, ALL, RM | VECTOR },
	{ 0x40, 0x42, P66, ALL, VECTOR },
	{ 0x44, 0x44, P66, ALL, VECTOR },
	{ 0x60, 0x63, P66, ALL, VECTOR },
	{ 0xcc, 0xcc, NP, ALL, VECTOR },
	{ 0xce, 0xcf, P66, ALL, VECTOR },
	{ 0xdf, 0xdf, P66, ALL, VECTOR },
};

static const struct form vector1[] = {
	{ 0x41, 0x4b, ANY, ALL, VECTOR },
	{ 0x78, 0x79, ANY, ALL, REG | VECTOR },
	{ 0x7a, 0x7b, ANY, ALL, RM | VECTOR },
	{ 0x90, 0x91, ANY, ALL, VECTOR },
	{ 0x92, 0x92, ANY, ALL, RM | VECTOR },
	{ 0x93, 0x93, ANY, ALL, REG | VECTOR },
	{ 0x98, 0x99, ANY, ALL, VECTOR },
};

/* Of map 1, in all encodings. */
static const struct form all1[] = {
	{ 0x10, 0x12, ANY, ALL, VECTOR },
	{ 0x14, 0x16, ANY, ALL, VECTOR },
	{ 0x28, 0x29, ANY, ALL, VECTOR },
	{ 0x2a, 0x2a, ANY, ALL, RM | VECTOR },
	{ 0x2c, 0x2d, ANY, ALL, REG | VECTOR },
	{ 0x2e, 0x2f, ANY, ALL, VECTOR },
	{ 0x50, 0x50, ANY, ALL, REG | VECTOR },
	{ 0x51, 0x6d, ANY, ALL, VECTOR },
	{ 0x6e, 0x6e, ANY, ALL, RM | VECTOR },
	{ 0x6f, 0x77, ANY, ALL, VECTOR },
	{ 0x7c, 0x7d, ANY, ALL, VECTOR },
	{ 0x7e, 0x7e, P66, ALL, RM | VECTOR },
	{ 0x7e, 0x7e, PF3, ALL, VECTOR },
	{ 0x7f, 0x7f, ANY, ALL, VECTOR },
	{ 0xc2, 0xc2, ANY, ALL, VECTOR },
	{ 0xc4, 0xc4, ANY, ALL, RM | VECTOR },
	{ 0xc5, 0xc5, ANY, ALL, REG | VECTOR },
	{ 0xc6, 0xc6, ANY, ALL, VECTOR },
	{ 0xd0, 0xd6, ANY, ALL, VECTOR },
	{ 0xd7, 0xd7, ANY, ALL, REG | VECTOR },
	{ 0xd8, 0xe6, ANY, ALL, VECTOR },
	{ 0xe8, 0xef, ANY, ALL, VECTOR },
	{ 0xf1, 0xf6, ANY, ALL, VECTOR },
	{ 0xf8, 0xfe, ANY, ALL, VECTOR },
};

/* Nothing of AMX, whose tiles are not the thread's here. */
static const struct form vex2[] = {
	{ 0x00, 0x2b, P66, ALL, VECTOR },
	{ 0x30, 0x47, P66, ALL, VECTOR },
	{ 0x50, 0x53, ANY, ALL, VECTOR },
	{ 0x58, 0x5a, P66, ALL, VECTOR },
	{ 0x78, 0x79, P66, ALL, VECTOR },
	{ 0x96, 0xbf, P66, ALL, VECTOR },
	{ 0xcf, 0xcf, P66, ALL, VECTOR },
	{ 0xdb, 0xdf, P66, ALL, VECTOR },
	{ 0xf2, 0xf2, NP, ALL, REG | RM | VVVV },
	{ 0xf3, 0xf3, NP, 0x0e, RM | VVVV },
	{ 0xf5, 0xf5, NP | PF3 | PF2, ALL, REG | RM | VVVV },
	{ 0xf6, 0xf6, PF2, ALL, REG | RM | VVVV },
	{ 0xf7, 0xf7, ANY, ALL, REG | RM | VVVV },
};

static const struct form vex3[] = {
	{ 0x00, 0x0f, P66, ALL, VECTOR },
	{ 0x14, 0x17, P66, ALL, RM | VECTOR },
	{ 0x18, 0x19, P66, ALL, VECTOR },
	{ 0x1d, 0x1d, P66, ALL, VECTOR },
	{ 0x20, 0x20, P66, ALL, RM | VECTOR },
	{ 0x21, 0x21, P66, ALL, VECTOR },
	{ 0x22, 0x22, P66, ALL, RM | VECTOR },
	{ 0x30, 0x33, P66, ALL, VECTOR },
	{ 0x38, 0x39, P66, ALL, VECTOR },
	{ 0x40, 0x46, P66, ALL, VECTOR },
	{ 0x4a, 0x4c, P66, ALL, VECTOR },
	{ 0x60, 0x63, P66, ALL, VECTOR },
	{ 0xce, 0xcf, P66, ALL, VECTOR },
	{ 0xdf, 0xdf, P66, ALL, VECTOR },
	{ 0xf0, 0xf0, PF2, ALL, REG | RM },
};

static const struct form evex2[] = {
	{ 0x00, 0x48, ANY, ALL, VECTOR }, { 0x4c, 0x6c, ANY, ALL, VECTOR },
	{ 0x6e, 0x79, ANY, ALL, VECTOR }, { 0x7a, 0x7c, P66, ALL, RM | VECTOR },
	{ 0x7d, 0x8f, P66, ALL, VECTOR }, { 0x96, 0x9f, ANY, ALL, VECTOR },
	{ 0xa6, 0xbf, ANY, ALL, VECTOR }, { 0xc4, 0xc4, P66, ALL, VECTOR },
	{ 0xc8, 0xcf, P66, ALL, VECTOR }, { 0xdc, 0xdf, P66, ALL, VECTOR },
};

static const struct form evex3[] = {
	{ 0x00, 0x06, ANY, ALL, VECTOR },      { 0x08, 0x0f, ANY, ALL, VECTOR },
	{ 0x14, 0x17, P66, ALL, RM | VECTOR }, { 0x18, 0x1f, P66, ALL, VECTOR },
	{ 0x20, 0x20, P66, ALL, RM | VECTOR }, { 0x21, 0x21, P66, ALL, VECTOR },
	{ 0x22, 0x22, P66, ALL, RM | VECTOR }, { 0x23, 0x73, ANY, ALL, VECTOR },
	{ 0xc2, 0xc2, ANY, ALL, VECTOR },      { 0xce, 0xcf, P66, ALL, VECTOR },
};

#define LIST(forms)                                                            \
	{                                                                      \
		(forms), ARRAY_SIZE(forms)                                     \
	}

static const struct list legacy[4] = { LIST(legacy0), LIST(legacy1),
				       LIST(legacy2), LIST(legacy3) };
static const struct list vex[4] = {
	{ 0 }, LIST(vector1), LIST(vex2), LIST(vex3)
};
static const struct list evex[4] = {
	{ 0 }, LIST(vector1), LIST(evex2), LIST(evex3)
};

static const struct form *find_in(const struct list *list,
				  const struct insn *insn)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct form *form = &list->form[i];

		if (insn->opcode >= form->first && insn->opcode <= form->last &&
		    form->prefixes >> insn->prefix & 1 &&
		    form->regs >> (insn->reg & 7) & 1)
			return form;
	}
	return NULL;
}

static const struct form *find(const struct insn *insn)
{
	static const struct list common = LIST(all1);
	const struct list *list = insn->encoding == INSN_LEGACY ? legacy
				  : insn->encoding == INSN_EVEX ? evex
								: vex;
	const struct form *form;

	if (insn->map > 3)
		return NULL;
	form = find_in(&list[insn->map], insn);
	return form || insn->map != 1 ? form : find_in(&common, insn);
}

/* The register in ModRM.rm; of EVEX only its low three bits. */
static unsigned rm_of(const struct insn *insn)
{
	unsigned low = insn->bytes[insn->modrm] & 7;

	if (insn->encoding == INSN_LEGACY)
		return low | (insn->rex & 1) << 3;
	if (insn->encoding == INSN_VEX3)
		return low | (~insn->bytes[insn->modrm - 3] >> 2 & 8);
	return low;
}

static bool names_rsp(const struct insn *insn, unsigned flags)
{
	/* Number 4 is AH then. */
	bool high = flags & BYTE && !insn->rex;

	if (flags & REG && insn->reg == RSP && (!high || flags & WIDER))
		return true;
	if (high)
		return false;
	return (flags & RM && rm_of(insn) == RSP) ||
	       (flags & VVVV && insn->vvvv == RSP) ||
	       (flags & OPCODE && (insn->opcode & 7) == RSP &&
		!(insn->rex & 1));
}

/* Another register in place of rsp, which must go on being ours. */
static void stand_in(const struct insn *insn, unsigned flags,
		     struct ahead_code *ret)
{
	uint8_t *modrm = &ret->bytes[insn->modrm];
	unsigned reg = flags & REG ? insn->reg : RSP;
	unsigned rm = rm_of(insn), other = RSI;

	while (other == reg || other == rm)
		other++;
	ret->use.stand_in = other;
	if (rm == RSP)
		*modrm = (*modrm & ~7) | other;
	if (flags & REG && reg == RSP)
		*modrm = (*modrm & ~0x38) | other << 3;
}

bool ahead_code(const struct insn *insn, struct ahead_code *ret)
{
	const struct form *form;

	if (insn->kind != INSN_NONE || insn->memory || insn->lock)
		return false;
	form = find(insn);
	if (!form)
		return false;
	/* r16 and on, of APX: #UD, or a register that we do not carry. */
	if (form->flags & REG && insn->reg >= REGISTERS)
		return false;
	*ret = (struct ahead_code){ 0 };
	memcpy(ret->bytes, insn->bytes, insn->length);
	ret->use.vector = form->flags & VECTOR;
	ret->use.legacy = insn->encoding == INSN_LEGACY;
	if (!names_rsp(insn, form->flags))
		return true;
	if (!(form->flags & PLAIN))
		return false;
	stand_in(insn, form->flags, ret);
	return true;
}
