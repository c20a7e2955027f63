/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "disasm/tables.h"

/* The bytes as they are consumed; a missing one is noticed once, at the end. */
struct cursor {
	const uint8_t *bytes;
	size_t size; /* at most INSN_BYTES */
	size_t at;
	bool ended;
};

static uint8_t peek(struct cursor *cursor)
{
	if (cursor->at < cursor->size)
		return cursor->bytes[cursor->at];
	cursor->ended = true;
	return 0;
}

static uint8_t take8(struct cursor *cursor)
{
	uint8_t byte = peek(cursor);

	if (!cursor->ended)
		cursor->at++;
	return byte;
}

/* A signed little-endian number of @size bytes. */
static int64_t take_signed(struct cursor *cursor, unsigned size)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)take8(cursor) << (8 * i);
	if (size == 1)
		return (int8_t)value;
	if (size == 2)
		return (int16_t)value;
	if (size == 4)
		return (int32_t)value;
	return (int64_t)value;
}

/* True if @byte is a legacy prefix; it is noted. */
static bool legacy_prefix(struct insn *insn, uint8_t byte)
{
	switch (byte) {
	case 0x66:
		insn->operand16 = true;
		return true;
	case 0x67:
		insn->address32 = true;
		return true;
	case 0xf0:
		insn->lock = true;
		return true;
	case 0xf2:
	case 0xf3:
		insn->repeat = byte;
		return true;
	case 0x64:
	case 0x65:
		insn->segment = byte;
		return true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
		/* 64-bit mode ignores these, even after fs or gs. */
		return true;
	default:
		return false;
	}
}

/* A REX counts only right before the opcode. */
static void parse_prefixes(struct insn *insn, struct cursor *cursor)
{
	while (!cursor->ended) {
		uint8_t byte = peek(cursor);

		if ((byte & 0xf0) == 0x40)
			insn->rex = byte;
		else if (legacy_prefix(insn, byte))
			insn->rex = 0;
		else
			break;
		take8(cursor);
	}
	insn->wide = insn->rex & 8;
}

/* Register extension bits, uninverted. */
struct extension {
	uint8_t reg, index, base;
};

static int parse_vex(struct insn *insn, struct cursor *cursor,
		     struct extension *ext)
{
	bool three = take8(cursor) == 0xc4;
	uint8_t first = take8(cursor), last = first;

	insn->encoding = three ? INSN_VEX3 : INSN_VEX2;
	insn->map = 1;
	ext->reg = ~first >> 7 & 1;
	if (three) {
		ext->index = ~first >> 6 & 1;
		ext->base = ~first >> 5 & 1;
		insn->map = first & 31;
		last = take8(cursor);
		insn->wide = last >> 7;
	}
	insn->vvvv = ~last >> 3 & 15;
	insn->vector = last & 4 ? 32 : 16;
	insn->prefix = last & 3;
	insn->opcode = take8(cursor);
	return insn->map >= 1 && insn->map <= 3 ? 0 : -EILSEQ;
}

static int parse_evex(struct insn *insn, struct cursor *cursor,
		      struct extension *ext)
{
	uint8_t p[3];

	take8(cursor);
	for (unsigned i = 0; i < 3; i++)
		p[i] = take8(cursor);
	insn->encoding = INSN_EVEX;
	/* The fixed bits have other meanings in APX, which we do not know. */
	if (p[0] & 8 || !(p[1] & 4))
		return -EILSEQ;
	ext->reg = (~p[0] >> 7 & 1) | (~p[0] >> 3 & 2);
	ext->index = ~p[0] >> 6 & 1;
	ext->base = ~p[0] >> 5 & 1;
	insn->map = p[0] & 7;
	insn->wide = p[1] >> 7;
	insn->vvvv = (~p[1] >> 3 & 15) | (p[2] & 8 ? 0 : 16);
	insn->prefix = p[1] & 3;
	/* With a rounding mode in place of the length (registers) it is 64. */
	insn->vector = 16 << min_u64(p[2] >> 5 & 3, 2);
	insn->broadcast = p[2] & 16;
	insn->mask = p[2] & 7;
	insn->opcode = take8(cursor);
	return insn->map >= 1 && insn->map <= 6 && insn->map != 4 ? 0 : -EILSEQ;
}

static void parse_escape(struct insn *insn, struct cursor *cursor)
{
	insn->opcode = take8(cursor);
	if (insn->opcode != 0x0f)
		return;
	insn->map = 1;
	insn->opcode = take8(cursor);
	if (insn->opcode != 0x38 && insn->opcode != 0x3a)
		return;
	insn->map = insn->opcode == 0x38 ? 2 : 3;
	insn->opcode = take8(cursor);
}

/* Everything up to and with the opcode. */
static int parse_opcode(struct insn *insn, struct cursor *cursor,
			struct extension *ext)
{
	uint8_t byte = peek(cursor);
	bool vector = byte == 0xc4 || byte == 0xc5 || byte == 0x62;

	if (vector) {
		if (insn->rex || insn->operand16 || insn->repeat || insn->lock)
			return -EILSEQ;
		return byte == 0x62 ? parse_evex(insn, cursor, ext)
				    : parse_vex(insn, cursor, ext);
	}
	parse_escape(insn, cursor);
	ext->reg = insn->rex >> 2 & 1;
	ext->index = insn->rex >> 1 & 1;
	ext->base = insn->rex & 1;
	insn->vector = 16;
	if (insn->repeat)
		insn->prefix = insn->repeat == 0xf3 ? 2 : 3;
	else
		insn->prefix = insn->operand16;
	/* AMD's XOP lies over pop, with a map of 8 or more. */
	if (insn->map == 0 && insn->opcode == 0x8f && peek(cursor) & 0x38)
		return -EILSEQ;
	return 0;
}

/* What follows the opcode, in the letters of tables.h. */
static char form_of(const struct insn *insn)
{
	if (insn->encoding == INSN_LEGACY) {
		if (insn->map < 2)
			return forms[insn->map][insn->opcode];
		return insn->map == 2 ? 'm' : 'M';
	}
	if (insn->map == 3)
		return 'M';
	if (insn->map != 1)
		return 'm';
	switch (insn->opcode) {
	case 0x77: /* vzeroupper */
		return insn->encoding == INSN_EVEX ? 'm' : '.';
	case 0x70 ... 0x73:
	case 0xc2:
	case 0xc4 ... 0xc6:
		return 'M';
	default:
		return 'm';
	}
}

static void parse_sib(struct insn *insn, struct cursor *cursor,
		      const struct extension *ext, unsigned *displacement)
{
	uint8_t sib = take8(cursor);
	int index = (sib >> 3 & 7) | ext->index << 3;

	insn->scale = 1 << (sib >> 6);
	insn->index = index == 4 ? -1 : index;
	if ((sib & 7) == 5 && insn->mod == 0)
		*displacement = 4;
	else
		insn->base = (sib & 7) | ext->base << 3;
}

static void parse_modrm(struct insn *insn, struct cursor *cursor,
			const struct extension *ext, bool registers)
{
	unsigned displacement = 0;
	uint8_t modrm, rm;

	insn->modrm = cursor->at;
	modrm = take8(cursor);
	rm = modrm & 7;
	insn->mod = registers ? 3 : modrm >> 6;
	insn->reg = (modrm >> 3 & 7) | ext->reg << 3;
	insn->rm = rm | ext->base << 3;
	if (insn->mod == 3)
		return;
	insn->memory = true;
	if (insn->mod == 1)
		displacement = 1;
	else if (insn->mod == 2)
		displacement = 4;
	if (rm == 4) {
		parse_sib(insn, cursor, ext, &displacement);
	} else if (rm == 5 && insn->mod == 0) {
		insn->rip_relative = true;
		displacement = 4;
	} else {
		insn->base = insn->rm;
	}
	if (!displacement)
		return;
	insn->displacement = cursor->at;
	insn->offset = take_signed(cursor, displacement);
}

/* Bytes of the immediate; REX.W wins over 66. */
static unsigned immediate_of(const struct insn *insn, char form)
{
	unsigned z = insn->operand16 && !insn->wide ? 2 : 4;

	switch (form) {
	case 'b':
	case 'M':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'd':
		return 4;
	case 'z':
	case 'Z':
		return z;
	case 'v':
		return insn->wide ? 8 : z;
	case 'o':
		return insn->address32 ? 4 : 8;
	case 'g':
		return (insn->reg & 7) < 2 ? 1 : 0;
	case 'G':
		return (insn->reg & 7) < 2 ? z : 0;
	default:
		return 0;
	}
}

static void parse_moffs(struct insn *insn, struct cursor *cursor)
{
	insn->memory = true;
	insn->displacement = cursor->at;
	if (insn->address32)
		insn->offset = (uint32_t)take_signed(cursor, 4);
	else
		insn->offset = take_signed(cursor, 8);
}

static void parse_operands(struct insn *insn, struct cursor *cursor,
			   const struct extension *ext, char form)
{
	unsigned immediate;

	if (strchr("mMZgGc", form))
		parse_modrm(insn, cursor, ext, form == 'c');
	if (form == 'o') {
		parse_moffs(insn, cursor);
		insn->immediate = cursor->at;
		return;
	}
	immediate = immediate_of(insn, form);
	/* SSE4a's extrq and insertq have two bytes. */
	if (insn->encoding == INSN_LEGACY && insn->map == 1 &&
	    insn->opcode == 0x78 && insn->prefix & 1)
		immediate = 2;
	insn->immediate = cursor->at;
	for (unsigned i = 0; i < immediate; i++)
		take8(cursor);
}

int insn_decode(const uint8_t *bytes, size_t size, struct insn *ret)
{
	struct cursor cursor = { .bytes = bytes,
				 .size = min_u64(size, INSN_BYTES) };
	struct extension ext = { 0 };
	char form;
	int r;

	*ret = (struct insn){ .modrm = -1,
			      .displacement = -1,
			      .base = -1,
			      .index = -1,
			      .indices = -1,
			      .scale = 1 };
	parse_prefixes(ret, &cursor);
	r = parse_opcode(ret, &cursor, &ext);
	if (!cursor.ended && r == 0) {
		form = form_of(ret);
		if (form == 'x')
			return -EILSEQ;
		parse_operands(ret, &cursor, &ext, form);
	}
	if (cursor.ended)
		return size >= INSN_BYTES ? -EILSEQ : -ENODATA;
	if (r < 0)
		return r;
	ret->length = cursor.at;
	memcpy(ret->bytes, bytes, cursor.at);
	return insn_classify(ret);
}
