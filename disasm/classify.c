/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "disasm/access.h"
#include "disasm/registers.h"
#include "disasm/tables.h"

static const struct row *find_row(const struct insn *insn)
{
	const struct rows *rows;

	if (insn->map > 3)
		return NULL;
	if (insn->encoding == INSN_LEGACY)
		rows = &rows_legacy[insn->map];
	else if (insn->encoding == INSN_EVEX)
		rows = &rows_evex[insn->map];
	else
		rows = &rows_vex[insn->map];
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		if (insn->opcode >= row->first && insn->opcode <= row->last &&
		    row->prefixes >> insn->prefix & 1 &&
		    row->regs >> (insn->reg & 7) & 1)
			return row;
	}
	return NULL;
}

static unsigned operand_size(const struct insn *insn)
{
	if (insn->wide)
		return 8;
	return insn->operand16 ? 2 : 4;
}

static unsigned lane_size(const struct insn *insn, unsigned flags)
{
	switch (flags & LANES) {
	case L1:
		return 1;
	case L2:
		return 2;
	case L4:
		return 4;
	case L8:
		return 8;
	case L12:
		return insn->wide ? 2 : 1;
	case LW:
		return insn->wide ? 8 : 4;
	default:
		return 0;
	}
}

/* Sizes of the integer and x87 rows. */
static unsigned size_legacy(const struct insn *insn, uint8_t size)
{
	bool small = insn->operand16 && !insn->wide;

	switch (size) {
	case Z_FX:
		return 512;
	case Z_V:
		return operand_size(insn);
	case Z_Y:
		return insn->wide ? 8 : 4;
	case Z_FAR:
		return operand_size(insn) + 2;
	case Z_STACK:
		return small ? 2 : 8;
	case Z_CX:
		return insn->wide ? 16 : 8;
	case Z_ENV:
		return small ? 14 : 28;
	case Z_SAVE:
		return small ? 94 : 108;
	default:
		return 0;
	}
}

static unsigned size_vector(const struct insn *insn, uint8_t size)
{
	static const uint8_t mask[2][2] = { { 2, 1 }, { 8, 4 } };
	bool half = size == Z_HALF || (size == Z_HALFW && !insn->wide);

	switch (size) {
	case Z_L:
		return insn->vector;
	case Z_L2:
		return insn->vector / 2;
	case Z_L4:
		return insn->vector / 4;
	case Z_L8:
		return insn->vector / 8;
	case Z_DUP:
		return insn->vector == 16 ? 8 : insn->vector;
	case Z_K:
		return mask[insn->wide][insn->prefix & 1];
	case Z_FULL:
	case Z_HALF:
	case Z_HALFW:
		return insn->vector / (half ? 2 : 1);
	default:
		return 0;
	}
}

static unsigned size_of(const struct insn *insn, uint8_t size)
{
	if (size <= Z_FIXED)
		return size;
	return size >= Z_L ? size_vector(insn, size) : size_legacy(insn, size);
}

/* Of the forms that can read one element for all lanes: its size, else 0. */
static unsigned broadcast_size(const struct insn *insn, uint8_t size)
{
	if (!insn->broadcast)
		return 0;
	if (size == Z_FULL || (size == Z_HALFW && insn->wide))
		return insn->wide ? 8 : 4;
	return size == Z_HALF || size == Z_HALFW ? 4 : 0;
}

static void set_lanes(struct insn *insn, unsigned flags)
{
	unsigned element = lane_size(insn, flags);

	/* A lane longer than the operand: a W that is not allowed. */
	if (!element || element > insn->size)
		return;
	insn->element = element;
	if (flags & VS) /* indices of 4 or 8 bytes */
		insn->lanes = insn->vector /
			      max_u64(insn->element, insn->opcode & 1 ? 8 : 4);
	else
		insn->lanes = (flags & LB ? insn->vector : insn->size) /
			      insn->element;
	if (flags & LS)
		insn->lane = LANE_SIGN;
	else if (flags & LP)
		insn->lane = LANE_PACKED;
	else
		insn->lane = LANE_EACH;
}

/*
 * EVEX counts its one-byte displacement in units of the operand; of a lane
 * where the operand's length varies.
 */
static void scale_displacement(struct insn *insn)
{
	if (insn->encoding != INSN_EVEX || insn->mod != 1)
		return;
	insn->offset *= insn->lane == LANE_PACKED ? insn->element : insn->size;
}

static enum insn_kind kind_of(const struct insn *insn, unsigned flags)
{
	if (!(flags & RW))
		return INSN_NONE;
	if (flags & S)
		return INSN_STEP;
	/* r16 and on, of APX: #UD, or a register that we do not carry. */
	if (insn->general && insn->reg >= REGISTERS)
		return INSN_STEP;
	if (flags & K)
		return INSN_STACK;
	if (flags & VS)
		return INSN_GATHER;
	/* The extracts: all must be writable, but not all is written. */
	if (insn->mask && insn->lane == LANE_UNKNOWN && flags & W)
		return INSN_STEP;
	return INSN_NATIVE;
}

/* The index of a gather or scatter is a vector register, without it #UD. */
static void set_indices(struct insn *insn)
{
	const uint8_t *modrm = insn->bytes + insn->modrm;
	bool evex = insn->encoding == INSN_EVEX;
	unsigned high = ~modrm[evex ? -4 : -3] >> 6 & 1;

	insn->memory = false;
	insn->index = -1;
	if ((modrm[0] & 7) != 4) {
		insn->kind = INSN_STEP;
		return;
	}
	insn->indices = (modrm[1] >> 3 & 7) | high << 3;
	if (evex)
		insn->indices |= insn->vvvv & 16;
}

static int classify_memory(struct insn *insn)
{
	const struct row *row = find_row(insn);

	if (!row)
		return -EILSEQ;
	insn->op = row->flags & RW;
	insn->size = size_of(insn, row->size);
	insn->bits = row->flags & B;
	insn->general = row->flags & G || (row->flags & H && insn->rex);
	insn->vector_in = row->flags & V;
	insn->vector_out = row->flags & V && row->flags & (R | O);
	set_lanes(insn, row->flags);
	if (broadcast_size(insn, row->size))
		insn->size = broadcast_size(insn, row->size);
	insn->kind = kind_of(insn, row->flags);
	scale_displacement(insn);
	if (insn->kind == INSN_GATHER)
		set_indices(insn);
	return 0;
}

/* One-byte opcodes that touch memory without naming it. */
static enum insn_kind implicit0(const struct insn *insn)
{
	unsigned reg = insn->reg & 7;

	switch (insn->opcode) {
	case 0xa4 ... 0xa7:
	case 0xaa ... 0xaf:
	case 0xd7:
		return INSN_STRING;
	case 0x50 ... 0x5f:
	case 0x68:
	case 0x6a:
	case 0x8f:
	case 0x9c ... 0x9d:
	case 0xc2 ... 0xc3:
	case 0xc8 ... 0xc9:
	case 0xe8:
		return INSN_STACK;
	case 0xff:
		if (reg == 3 || reg == 5)
			return INSN_NONE;
		return reg == 2 || reg == 6 ? INSN_STACK : INSN_NONE;
	case 0x6c ... 0x6f: /* ins outs */
	case 0xca ... 0xcb: /* ret far */
	case 0xcf:	    /* iret */
		return INSN_STEP;
	default:
		return INSN_NONE;
	}
}

/* Two-byte opcodes that touch memory without naming it. */
static enum insn_kind implicit1(const struct insn *insn)
{
	uint8_t modrm = insn->modrm < 0 ? 0 : insn->bytes[insn->modrm];

	switch (insn->opcode) {
	case 0x01: /* monitor monitorx clzero */
		return modrm == 0xc8 || modrm == 0xfa || modrm == 0xfc
			       ? INSN_STEP
			       : INSN_NONE;
	case 0xae: /* umonitor; incssp reads the shadow stack */
		return insn->prefix == 2 && ((modrm >> 3 & 7) == 6 ||
					     (modrm >> 3 & 7) == 5)
			       ? INSN_STEP
			       : INSN_NONE;
	case 0xa0 ... 0xa1: /* push fs, pop fs; gs */
	case 0xa8 ... 0xa9:
		return INSN_STEP;
	default:
		return INSN_NONE;
	}
}

/* maskmovq, maskmovdqu: bytes to (%rdi) where those of rm are negative. */
static void set_maskmov(struct insn *insn)
{
	bool mmx = insn->prefix == 0;

	if (insn->prefix > 1 || (mmx && insn->encoding != INSN_LEGACY)) {
		insn->kind = INSN_STEP;
		return;
	}
	insn->kind = INSN_NATIVE;
	insn->memory = insn->implied = true;
	insn->base = 7; /* rdi */
	insn->op = ACCESS_WRITE;
	insn->size = insn->lanes = mmx ? 8 : 16;
	insn->element = 1;
	insn->lane = LANE_SIGN;
	insn->vector_in = true;
	/* As all MMX instructions it touches the x87 tags. */
	insn->vector_out = mmx;
}

static int classify_registers(struct insn *insn)
{
	if (insn->map == 1 && insn->opcode == 0xf7 &&
	    insn->encoding != INSN_EVEX) {
		set_maskmov(insn);
		return 0;
	}
	if (insn->encoding != INSN_LEGACY)
		return 0;
	if (insn->map == 0)
		insn->kind = implicit0(insn);
	else if (insn->map == 1)
		insn->kind = implicit1(insn);
	if (insn->map == 1 && (insn->opcode & 0xf6) == 0xa0) /* fs, gs */
		insn->size = insn->operand16 && !insn->wide ? 2 : 8;
	if (insn->kind == INSN_STRING)
		insn->size = insn->opcode & 1 && insn->opcode != 0xd7
				     ? operand_size(insn)
				     : 1;
	else if (insn->kind == INSN_STACK)
		insn->size = insn->operand16 && !insn->wide ? 2 : 8;
	return 0;
}

int insn_classify(struct insn *insn)
{
	return insn->memory ? classify_memory(insn) : classify_registers(insn);
}
