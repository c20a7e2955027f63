/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tables - what each opcode has behind it and does to its memory operand
 *
 * The only list of what may run: a memory form without a row is no
 * instruction we know.
 */

#include "disasm/insn.h"

/* Mandatory prefixes a row is for, by struct insn's prefix. */
enum {
	NP = 1,
	P66 = 2,
	PF3 = 4,
	PF2 = 8,
	PS = NP | P66, /* packed single and double */
	PANY = 15,
};

/* What a row says besides the size. */
enum {
	R = 1 << 0, /* = ACCESS_READ */
	W = 1 << 1, /* = ACCESS_WRITE */
	RW = R | W,
	V = 1 << 2,   /* vector, MMX or x87 state; a load changes it */
	O = 1 << 3,   /* a store that changes that state too */
	G = 1 << 4,   /* ModRM.reg is a general register */
	H = 1 << 5,   /* ModRM.reg is a byte register, high without REX */
	B = 1 << 6,   /* bit string */
	S = 1 << 7,   /* cannot run elsewhere: step */
	K = 1 << 8,   /* uses the stack or jumps: in C */
	LP = 1 << 9,  /* packed lanes (compress, expand) */
	LS = 1 << 10, /* lanes by the signs of vvvv */
	L1 = 1 << 11, /* lanes of 1 byte */
	L2 = 2 << 11,
	L4 = 3 << 11,
	L8 = 4 << 11,
	L12 = 5 << 11, /* of 1 or 2, by W */
	LW = 6 << 11,  /* of 4 or 8, by W */
	LANES = 7 << 11,
	LB = 1 << 14, /* the operand is repeated over the vector's lanes */
	VS = 1 << 15, /* a vector of indices: gather, scatter */
};

/* Sizes up to Z_FIXED are bytes. */
enum {
	Z_FIXED = 64,
	Z_FX,	 /* fxsave: 512 */
	Z_V,	 /* 2 4 8 by 66 and W */
	Z_Y,	 /* 4 8 by W */
	Z_FAR,	 /* selector and offset */
	Z_STACK, /* 8, or 2 with 66 */
	Z_CX,	 /* 8 16 by W (cmpxchg8b) */
	Z_ENV,	 /* x87 environment: 28, or 14 with 66 */
	Z_SAVE,	 /* x87 state: 108, or 94 with 66 */
	Z_L,	 /* the vector length */
	Z_L2,	 /* half of it */
	Z_L4,	 /* a quarter */
	Z_L8,	 /* an eighth */
	Z_DUP,	 /* vmovddup: 8 32 64 */
	Z_K,	 /* kmov: 2 8 1 4 by W and 66 */
	Z_FULL,	 /* the length; 4 or 8 by W when broadcast */
	Z_HALF,	 /* half the length; 4 when broadcast */
	Z_HALFW, /* Z_HALF, or Z_FULL with W */
};

struct row {
	uint8_t first, last; /* opcodes */
	uint8_t prefixes;    /* bits: NP P66 PF3 PF2 */
	uint8_t regs;	     /* bits: which ModRM.reg, low three */
	uint8_t size;	     /* Z_* or bytes; 0: unknown or none */
	uint16_t flags;
};

struct rows {
	const struct row *rows;
	size_t count;
};

extern const struct rows rows_legacy[4];
extern const struct rows rows_vex[4];
extern const struct rows rows_evex[4];

/*
 * What follows an opcode of map 0 or 1:
 *
 *   .  nothing            x  no instruction in 64-bit mode
 *   m  ModRM              M  ModRM, 1 byte       Z  ModRM, 2 or 4 bytes
 *   b  1 byte             z  2 or 4 bytes        v  2, 4 or 8 bytes
 *   w  2 bytes            e  2 bytes and 1       d  4 bytes (a branch)
 *   o  an address         g  ModRM; 1 byte if test      G  the same, Z
 *   c  ModRM, always of a register (control and debug registers)
 */
extern const char forms[2][257];

/*
 * Fill in kind, op, size and what goes with them; all else is parsed.
 * 0, or -EILSEQ for a memory form that no row has.
 */
int insn_classify(struct insn *insn) _must_check_;
