/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * insn - one x86-64 instruction, decoded
 *
 * Bytes in, a value out: lengths, prefixes, the explicit memory operand, and
 * the way in which the instruction can be performed for another thread.  Our
 * own small parser owns all of it; Capstone (insn_text) gives only the text.
 * Knows nothing of tracing.
 *
 * Source: Intel SDM volume 2, chapter 2 (instruction format, VEX, EVEX) and
 * appendix A (opcode maps).
 */

#include "base/macro.h"

enum { INSN_BYTES = 15, INSN_TEXT = 160 };

/* How an instruction that touches memory gets performed. */
enum insn_kind {
	INSN_NONE,   /* touches no data memory (lea, nop, prefetch, reg, reg) */
	INSN_NATIVE, /* one explicit operand: run with it re-encoded */
	INSN_STRING, /* movs cmps stos lods scas, also with rep; xlat: in C */
	INSN_STACK,  /* push pop pushf popf call ret enter leave ...: in C */
	INSN_GATHER, /* gather and scatter: in C */
	INSN_STEP,   /* touches memory and must be stepped by its own thread */
};

enum insn_encoding {
	INSN_LEGACY,
	INSN_VEX2,
	INSN_VEX3,
	INSN_EVEX,
};

/* What an EVEX mask does to the memory operand. */
enum insn_lane {
	LANE_UNKNOWN, /* the mask lets no part of the operand out */
	LANE_EACH,    /* lane i is touched if bit i is set */
	LANE_PACKED,  /* as many lanes as bits are set (compress, expand) */
	LANE_SIGN,    /* lane i if it is negative in another vector */
};

struct insn {
	uint8_t bytes[INSN_BYTES];
	uint8_t length;

	enum insn_kind kind;
	enum insn_encoding encoding;
	uint8_t map;	/* 0 one-byte, 1 0F, 2 0F38, 3 0F3A */
	uint8_t opcode; /* in that map */
	uint8_t rex;	/* 0 if there is none */

	bool operand16;	 /* prefix 66 */
	bool address32;	 /* prefix 67 */
	bool lock;	 /* prefix F0 */
	uint8_t repeat;	 /* F2, F3 or 0 */
	uint8_t segment; /* 64 (fs), 65 (gs) or 0 */

	int8_t modrm;	     /* offset in bytes, -1 if there is none */
	int8_t displacement; /* offset in bytes, -1 if there is none */
	int8_t immediate;    /* offset in bytes, = length if there is none */
	uint8_t mod, reg;    /* of ModRM; reg with its extension bit */
	uint8_t rm;	     /* the same, where it is a register */
	bool general; /* reg names a general register (not AH CH DH BH) */

	/* Mandatory prefix: 0 none, 1 66, 2 F3, 3 F2 (the pp of VEX, EVEX). */
	uint8_t prefix;
	bool wide;	     /* REX.W, VEX.W, EVEX.W */
	uint8_t vector;	     /* VEX and EVEX: vector length in bytes, else 16 */
	uint8_t vvvv;	     /* VEX and EVEX: the other source register */
	uint8_t mask;	     /* EVEX: opmask register, 0 if unmasked */
	bool broadcast;	     /* EVEX.b */
	enum insn_lane lane; /* what the mask does to memory */
	uint8_t element;     /* bytes of a lane, 0 if there are none */
	/*
	 * Lanes that the mask has bits for.  They may be more than the operand
	 * has elements (broadcast): then it is repeated.
	 */
	uint8_t lanes;

	bool memory; /* an explicit memory operand */
	bool rip_relative;
	int8_t base; /* register number 0..15, -1 if none */
	int8_t index;
	int8_t indices; /* vector register of the indices (gather), else -1 */
	uint8_t scale;	/* 1 2 4 8 */
	int64_t offset; /* displacement, disp8*N already scaled */

	uint8_t op; /* ACCESS_* of the explicit operand */
	/*
	 * Bytes of the explicit operand, 0 if unknown; of an element (string)
	 * or of what is pushed or popped (stack) where there is none.
	 */
	uint16_t size;
	bool implied; /* the operand is (%rdi), and no part of ModRM */
	bool bits; /* bit string: a register gives a bit beyond the operand */

	bool vector_in;	 /* needs the thread's XSTATE (x87, MMX, SSE, AVX) */
	bool vector_out; /* changes it */
};

/*
 * Decode the instruction at the start of @bytes; @size of them are there.
 * 0; -EILSEQ: no instruction we know; -ENODATA: it needs more than @size.
 */
int insn_decode(const uint8_t *bytes, size_t size,
		struct insn *ret) _must_check_;

struct insn_names; /* Capstone's handle */

int insn_names_new(struct insn_names **ret) _must_check_;
void insn_names_free(struct insn_names *names);
DEFINE_CLEANUP(insn_names)

/*
 * The text in Intel syntax, for people, shorter than INSN_TEXT; until the next
 * call.  Where Capstone does not know the bytes it is ".byte 0x62, 0xf1, ...".
 */
const char *insn_text(struct insn_names *names, const struct insn *insn,
		      uint64_t ip);
