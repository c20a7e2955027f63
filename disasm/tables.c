/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/tables.h"

/* Sixteen a line, as in the opcode maps of the SDM's appendix A. */
const char forms[2][257] = {
	"mmmmbzxxmmmmbzx."
	"mmmmbzxxmmmmbzxx"
	"mmmmbz.xmmmmbz.x"
	"mmmmbz.xmmmmbz.x"
	"................"
	"................"
	"xx.m....zZbM...."
	"bbbbbbbbbbbbbbbb"
	"MZxMmmmmmmmmmmmm"
	"..........x....."
	"oooo....bz......"
	"bbbbbbbbvvvvvvvv"
	"MMw...MZe.w..bx."
	"mmmmxxx.mmmmmmmm"
	"bbbbbbbbddxb...."
	"......gG......mm",

	"mmmmx.....x.xm.x"
	"mmmmmmmmmmmmmmmm"
	"ccccxxxxmmmmmmmm"
	"......x..x.xxxxx"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm"
	"MMMMmmm.mmxxmmmm"
	"dddddddddddddddd"
	"mmmmmmmmmmmmmmmm"
	"...mMmxx...mMmmm"
	"mmmmmmmmmmMmmmmm"
	"mmMmMMMm........"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm",
};

#define ALL    0xff
#define REG(n) (1 << (n))

/* r/m8,r8  r/m,r  r8,r/m8  r,r/m */
#define ALU(n, op)                                                             \
	{ n, n, PANY, ALL, 1, (op) | H },                                      \
		{ (n) + 1, (n) + 1, PANY, ALL, Z_V, (op) | G },                \
		{ (n) + 2, (n) + 2, PANY, ALL, 1, R | H },                     \
	{                                                                      \
		(n) + 3, (n) + 3, PANY, ALL, Z_V, R | G                        \
	}

static const struct row map0[] = {
	ALU(0x00, RW),
	ALU(0x08, RW),
	ALU(0x10, RW),
	ALU(0x18, RW),
	ALU(0x20, RW),
	ALU(0x28, RW),
	ALU(0x30, RW),
	ALU(0x38, R),
	/* With 66 too, whatever the manuals say: tried on the machine. */
	{ 0x63, 0x63, PANY, ALL, 4, R | G },
	{ 0x69, 0x69, PANY, ALL, Z_V, R | G },
	{ 0x6b, 0x6b, PANY, ALL, Z_V, R | G },
	{ 0x80, 0x80, PANY, 0x7f, 1, RW },
	{ 0x80, 0x80, PANY, 0x80, 1, R },
	{ 0x81, 0x83, PANY, 0x7f, Z_V, RW },
	{ 0x81, 0x83, PANY, 0x80, Z_V, R },
	{ 0x84, 0x84, PANY, ALL, 1, R | H },
	{ 0x85, 0x85, PANY, ALL, Z_V, R | G },
	{ 0x86, 0x86, PANY, ALL, 1, RW | H },
	{ 0x87, 0x87, PANY, ALL, Z_V, RW | G },
	{ 0x88, 0x88, PANY, ALL, 1, W | H },
	{ 0x89, 0x89, PANY, ALL, Z_V, W | G },
	{ 0x8a, 0x8a, PANY, ALL, 1, R | H },
	{ 0x8b, 0x8b, PANY, ALL, Z_V, R | G },
	/* The selectors would be the tracer's own. */
	{ 0x8c, 0x8c, PANY, 0x3f, 2, W | S },
	{ 0x8d, 0x8d, PANY, ALL, 0, 0 },
	{ 0x8e, 0x8e, PANY, 0x3f, 2, R | S },
	{ 0x8f, 0x8f, PANY, 0x01, Z_STACK, W | K },
	{ 0xa0, 0xa0, PANY, ALL, 1, R },
	{ 0xa1, 0xa1, PANY, ALL, Z_V, R },
	{ 0xa2, 0xa2, PANY, ALL, 1, W },
	{ 0xa3, 0xa3, PANY, ALL, Z_V, W },
	{ 0xc0, 0xc0, PANY, ALL, 1, RW },
	{ 0xc1, 0xc1, PANY, ALL, Z_V, RW },
	{ 0xc6, 0xc6, PANY, 0x01, 1, W },
	{ 0xc7, 0xc7, PANY, 0x01, Z_V, W },
	{ 0xd0, 0xd0, PANY, ALL, 1, RW },
	{ 0xd1, 0xd1, PANY, ALL, Z_V, RW },
	{ 0xd2, 0xd2, PANY, ALL, 1, RW },
	{ 0xd3, 0xd3, PANY, ALL, Z_V, RW },
	{ 0xd8, 0xd8, PANY, ALL, 4, R | V },
	{ 0xd9, 0xd9, PANY, 0x01, 4, R | V },
	{ 0xd9, 0xd9, PANY, 0x0c, 4, W | V | O },
	{ 0xd9, 0xd9, PANY, 0x10, Z_ENV, R | V },
	{ 0xd9, 0xd9, PANY, 0x20, 2, R | V },
	{ 0xd9, 0xd9, PANY, 0x40, Z_ENV, W | V | O },
	{ 0xd9, 0xd9, PANY, 0x80, 2, W | V },
	{ 0xda, 0xda, PANY, ALL, 4, R | V },
	{ 0xdb, 0xdb, PANY, 0x01, 4, R | V },
	{ 0xdb, 0xdb, PANY, 0x0e, 4, W | V | O },
	{ 0xdb, 0xdb, PANY, 0x20, 10, R | V },
	{ 0xdb, 0xdb, PANY, 0x80, 10, W | V | O },
	{ 0xdc, 0xdc, PANY, ALL, 8, R | V },
	{ 0xdd, 0xdd, PANY, 0x01, 8, R | V },
	{ 0xdd, 0xdd, PANY, 0x0e, 8, W | V | O },
	{ 0xdd, 0xdd, PANY, 0x10, Z_SAVE, R | V },
	{ 0xdd, 0xdd, PANY, 0x40, Z_SAVE, W | V | O },
	{ 0xdd, 0xdd, PANY, 0x80, 2, W | V },
	{ 0xde, 0xde, PANY, ALL, 2, R | V },
	{ 0xdf, 0xdf, PANY, 0x01, 2, R | V },
	{ 0xdf, 0xdf, PANY, 0x0e, 2, W | V | O },
	{ 0xdf, 0xdf, PANY, 0x10, 10, R | V },
	{ 0xdf, 0xdf, PANY, 0x20, 8, R | V },
	{ 0xdf, 0xdf, PANY, 0x40, 10, W | V | O },
	{ 0xdf, 0xdf, PANY, 0x80, 8, W | V | O },
	{ 0xf6, 0xf6, PANY, 0xf3, 1, R },
	{ 0xf6, 0xf6, PANY, 0x0c, 1, RW },
	{ 0xf7, 0xf7, PANY, 0xf3, Z_V, R },
	{ 0xf7, 0xf7, PANY, 0x0c, Z_V, RW },
	{ 0xfe, 0xfe, PANY, 0x03, 1, RW },
	{ 0xff, 0xff, PANY, 0x03, Z_V, RW },
	{ 0xff, 0xff, PANY, 0x14, 8, R | K },
	{ 0xff, 0xff, PANY, 0x28, Z_FAR, R | S },
	{ 0xff, 0xff, PANY, 0x40, Z_STACK, R | K },
};

static const struct row map1[] = {
	{ 0x00, 0x00, PANY, 0x03, 2, W | S },
	{ 0x00, 0x00, PANY, 0x3c, 2, R | S },
	{ 0x01, 0x01, PANY, 0x03, 10, W | S },
	{ 0x01, 0x01, PANY, 0x0c, 10, R | S },
	{ 0x01, 0x01, PANY, 0x10, 2, W | S },
	{ 0x01, 0x01, PF3, 0x20, 8, RW | S },
	{ 0x01, 0x01, PANY, 0x40, 2, R | S },
	{ 0x01, 0x01, PANY, 0x80, 0, 0 },
	{ 0x02, 0x03, PANY, ALL, 2, R | S },
	{ 0x0d, 0x0d, PANY, ALL, 0, 0 },
	{ 0x10, 0x10, PS, ALL, 16, R | V },
	{ 0x10, 0x10, PF3, ALL, 4, R | V },
	{ 0x10, 0x10, PF2, ALL, 8, R | V },
	{ 0x11, 0x11, PS, ALL, 16, W | V },
	{ 0x11, 0x11, PF3, ALL, 4, W | V },
	{ 0x11, 0x11, PF2, ALL, 8, W | V },
	{ 0x12, 0x12, PS | PF2, ALL, 8, R | V },
	{ 0x12, 0x12, PF3, ALL, 16, R | V },
	{ 0x13, 0x13, PS, ALL, 8, W | V },
	{ 0x14, 0x15, PS, ALL, 16, R | V },
	{ 0x16, 0x16, PS, ALL, 8, R | V },
	{ 0x16, 0x16, PF3, ALL, 16, R | V },
	{ 0x17, 0x17, PS, ALL, 8, W | V },
	{ 0x18, 0x1f, PANY, ALL, 0, 0 },
	{ 0x28, 0x28, PS, ALL, 16, R | V },
	{ 0x29, 0x29, PS, ALL, 16, W | V },
	{ 0x2a, 0x2a, PS, ALL, 8, R | V },
	{ 0x2a, 0x2a, PF3 | PF2, ALL, Z_Y, R | V },
	{ 0x2b, 0x2b, PS, ALL, 16, W | V },
	{ 0x2b, 0x2b, PF3, ALL, 4, W | V },
	{ 0x2b, 0x2b, PF2, ALL, 8, W | V },
	{ 0x2c, 0x2d, NP, ALL, 8, R | V },
	{ 0x2c, 0x2d, P66, ALL, 16, R | V },
	{ 0x2c, 0x2d, PF3, ALL, 4, R | V | G },
	{ 0x2c, 0x2d, PF2, ALL, 8, R | V | G },
	{ 0x2e, 0x2f, NP, ALL, 4, R | V },
	{ 0x2e, 0x2f, P66, ALL, 8, R | V },
	{ 0x40, 0x4f, PANY, ALL, Z_V, R | G },
	{ 0x51, 0x51, PS, ALL, 16, R | V },
	{ 0x51, 0x53, PF3, ALL, 4, R | V },
	{ 0x51, 0x51, PF2, ALL, 8, R | V },
	{ 0x52, 0x53, NP, ALL, 16, R | V },
	{ 0x54, 0x59, PS, ALL, 16, R | V },
	{ 0x58, 0x5a, PF3, ALL, 4, R | V },
	{ 0x58, 0x5a, PF2, ALL, 8, R | V },
	{ 0x5a, 0x5a, NP, ALL, 8, R | V },
	{ 0x5a, 0x5a, P66, ALL, 16, R | V },
	{ 0x5b, 0x5b, PS | PF3, ALL, 16, R | V },
	{ 0x5c, 0x5f, PS, ALL, 16, R | V },
	{ 0x5c, 0x5f, PF3, ALL, 4, R | V },
	{ 0x5c, 0x5f, PF2, ALL, 8, R | V },
	{ 0x60, 0x62, NP, ALL, 4, R | V },
	{ 0x63, 0x6b, NP, ALL, 8, R | V },
	{ 0x60, 0x6d, P66, ALL, 16, R | V },
	{ 0x6e, 0x6e, PS, ALL, Z_Y, R | V },
	{ 0x6f, 0x70, NP, ALL, 8, R | V },
	{ 0x6f, 0x70, P66 | PF3, ALL, 16, R | V },
	{ 0x70, 0x70, PF2, ALL, 16, R | V },
	{ 0x74, 0x76, NP, ALL, 8, R | V },
	{ 0x74, 0x76, P66, ALL, 16, R | V },
	{ 0x78, 0x78, NP, ALL, 8, W | S },
	{ 0x79, 0x79, NP, ALL, 8, R | S },
	{ 0x7c, 0x7d, P66 | PF2, ALL, 16, R | V },
	/* An MMX instruction touches the x87 tags, a store too. */
	{ 0x7e, 0x7e, NP, ALL, Z_Y, W | V | O },
	{ 0x7e, 0x7e, P66, ALL, Z_Y, W | V },
	{ 0x7e, 0x7e, PF3, ALL, 8, R | V },
	{ 0x7f, 0x7f, NP, ALL, 8, W | V | O },
	{ 0x7f, 0x7f, P66 | PF3, ALL, 16, W | V },
	{ 0x90, 0x9f, PANY, ALL, 1, W },
	{ 0xa3, 0xa3, PANY, ALL, Z_V, R | G | B },
	{ 0xa4, 0xa5, PANY, ALL, Z_V, RW | G },
	{ 0xab, 0xab, PANY, ALL, Z_V, RW | G | B },
	{ 0xac, 0xad, PANY, ALL, Z_V, RW | G },
	{ 0xae, 0xae, NP, 0x01, Z_FX, W | V },
	{ 0xae, 0xae, NP, 0x02, Z_FX, R | V },
	{ 0xae, 0xae, NP, 0x04, 4, R | V },
	{ 0xae, 0xae, NP, 0x08, 4, W | V },
	/* xsave reads its header; the size is in edx:eax and XCR0 */
	{ 0xae, 0xae, NP, 0x50, 0, RW | V | S },
	{ 0xae, 0xae, NP, 0x20, 0, R | V | S },
	{ 0xae, 0xae, PS, 0x80, 1, R | S },
	{ 0xae, 0xae, P66, 0x40, 1, R | S },
	{ 0xae, 0xae, PF3, 0x10, Z_Y, R | S },
	{ 0xae, 0xae, PF3, 0x40, 8, RW | S },
	{ 0xaf, 0xaf, PANY, ALL, Z_V, R | G },
	{ 0xb0, 0xb0, PANY, ALL, 1, RW | H },
	{ 0xb1, 0xb1, PANY, ALL, Z_V, RW | G },
	{ 0xb2, 0xb2, PANY, ALL, Z_FAR, R | S },
	{ 0xb3, 0xb3, PANY, ALL, Z_V, RW | G | B },
	{ 0xb4, 0xb5, PANY, ALL, Z_FAR, R | S },
	{ 0xb6, 0xb6, PANY, ALL, 1, R | G },
	{ 0xb7, 0xb7, PANY, ALL, 2, R | G },
	{ 0xb8, 0xb8, PF3, ALL, Z_V, R | G },
	{ 0xba, 0xba, PANY, 0x10, Z_V, R },
	{ 0xba, 0xba, PANY, 0xe0, Z_V, RW },
	{ 0xbb, 0xbb, PANY, ALL, Z_V, RW | G | B },
	{ 0xbc, 0xbd, PANY, ALL, Z_V, R | G },
	{ 0xbe, 0xbe, PANY, ALL, 1, R | G },
	{ 0xbf, 0xbf, PANY, ALL, 2, R | G },
	{ 0xc0, 0xc0, PANY, ALL, 1, RW | H },
	{ 0xc1, 0xc1, PANY, ALL, Z_V, RW | G },
	{ 0xc2, 0xc2, PS, ALL, 16, R | V },
	{ 0xc2, 0xc2, PF3, ALL, 4, R | V },
	{ 0xc2, 0xc2, PF2, ALL, 8, R | V },
	{ 0xc3, 0xc3, NP, ALL, Z_Y, W | G },
	{ 0xc4, 0xc4, PS, ALL, 2, R | V },
	{ 0xc6, 0xc6, PS, ALL, 16, R | V },
	{ 0xc7, 0xc7, PANY, 0x02, Z_CX, RW },
	{ 0xc7, 0xc7, NP, 0x08, 0, R | V | S },
	{ 0xc7, 0xc7, NP, 0x30, 0, W | V | S },
	{ 0xc7, 0xc7, PANY, 0x40, 8, R | S },
	{ 0xc7, 0xc7, NP, 0x80, 8, W | S },
	{ 0xd0, 0xd0, P66 | PF2, ALL, 16, R | V },
	{ 0xd1, 0xd5, NP, ALL, 8, R | V },
	{ 0xd1, 0xd5, P66, ALL, 16, R | V },
	{ 0xd6, 0xd6, P66, ALL, 8, W | V },
	{ 0xd8, 0xe5, NP, ALL, 8, R | V },
	{ 0xd8, 0xe5, P66, ALL, 16, R | V },
	{ 0xe6, 0xe6, PF3, ALL, 8, R | V },
	{ 0xe6, 0xe6, P66 | PF2, ALL, 16, R | V },
	{ 0xe7, 0xe7, NP, ALL, 8, W | V | O },
	{ 0xe7, 0xe7, P66, ALL, 16, W | V },
	{ 0xe8, 0xef, NP, ALL, 8, R | V },
	{ 0xe8, 0xef, P66, ALL, 16, R | V },
	{ 0xf0, 0xf0, PF2, ALL, 16, R | V },
	{ 0xf1, 0xf6, NP, ALL, 8, R | V },
	{ 0xf1, 0xf6, P66, ALL, 16, R | V },
	{ 0xf8, 0xfe, NP, ALL, 8, R | V },
	{ 0xf8, 0xfe, P66, ALL, 16, R | V },
};

static const struct row map2[] = {
	{ 0x00, 0x0b, NP, ALL, 8, R | V },
	{ 0x00, 0x0b, P66, ALL, 16, R | V },
	{ 0x10, 0x10, P66, ALL, 16, R | V },
	{ 0x14, 0x15, P66, ALL, 16, R | V },
	{ 0x17, 0x17, P66, ALL, 16, R | V },
	{ 0x1c, 0x1e, NP, ALL, 8, R | V },
	{ 0x1c, 0x1e, P66, ALL, 16, R | V },
	{ 0x20, 0x20, P66, ALL, 8, R | V },
	{ 0x21, 0x21, P66, ALL, 4, R | V },
	{ 0x22, 0x22, P66, ALL, 2, R | V },
	{ 0x23, 0x23, P66, ALL, 8, R | V },
	{ 0x24, 0x24, P66, ALL, 4, R | V },
	{ 0x25, 0x25, P66, ALL, 8, R | V },
	{ 0x28, 0x2b, P66, ALL, 16, R | V },
	{ 0x30, 0x30, P66, ALL, 8, R | V },
	{ 0x31, 0x31, P66, ALL, 4, R | V },
	{ 0x32, 0x32, P66, ALL, 2, R | V },
	{ 0x33, 0x33, P66, ALL, 8, R | V },
	{ 0x34, 0x34, P66, ALL, 4, R | V },
	{ 0x35, 0x35, P66, ALL, 8, R | V },
	{ 0x37, 0x41, P66, ALL, 16, R | V },
	{ 0x80, 0x82, P66, ALL, 16, R | S },
	{ 0xc8, 0xcd, NP, ALL, 16, R | V },
	{ 0xcf, 0xcf, P66, ALL, 16, R | V },
	{ 0xdb, 0xdf, P66, ALL, 16, R | V },
	{ 0xf0, 0xf0, PS, ALL, Z_V, R | G },
	{ 0xf0, 0xf0, PF2, ALL, 1, R | G },
	{ 0xf1, 0xf1, PS, ALL, Z_V, W | G },
	{ 0xf1, 0xf1, PF2, ALL, Z_V, R | G },
	/* shadow stacks */
	{ 0xf5, 0xf5, P66, ALL, Z_Y, W | S },
	{ 0xf6, 0xf6, NP, ALL, Z_Y, W | S },
	{ 0xf6, 0xf6, P66 | PF3, ALL, Z_Y, R | G },
	/* movdir64b, enqcmd: a second operand in a register */
	{ 0xf8, 0xf8, P66 | PF3 | PF2, ALL, 64, R | S },
	{ 0xf9, 0xf9, NP, ALL, Z_Y, W | G },
};

static const struct row map3[] = {
	{ 0x08, 0x09, P66, ALL, 16, R | V },
	{ 0x0a, 0x0a, P66, ALL, 4, R | V },
	{ 0x0b, 0x0b, P66, ALL, 8, R | V },
	{ 0x0c, 0x0f, P66, ALL, 16, R | V },
	{ 0x0f, 0x0f, NP, ALL, 8, R | V },
	{ 0x14, 0x14, P66, ALL, 1, W | V },
	{ 0x15, 0x15, P66, ALL, 2, W | V },
	{ 0x16, 0x16, P66, ALL, Z_Y, W | V },
	{ 0x17, 0x17, P66, ALL, 4, W | V },
	{ 0x20, 0x20, P66, ALL, 1, R | V },
	{ 0x21, 0x21, P66, ALL, 4, R | V },
	{ 0x22, 0x22, P66, ALL, Z_Y, R | V },
	{ 0x40, 0x42, P66, ALL, 16, R | V },
	{ 0x44, 0x44, P66, ALL, 16, R | V },
	/* pcmpestri and its kin give a result in ecx */
	{ 0x60, 0x63, P66, ALL, 16, R | V },
	{ 0xcc, 0xcc, NP, ALL, 16, R | V },
	{ 0xce, 0xcf, P66, ALL, 16, R | V },
	{ 0xdf, 0xdf, P66, ALL, 16, R | V },
};

const struct rows rows_legacy[4] = {
	{ map0, ARRAY_SIZE(map0) },
	{ map1, ARRAY_SIZE(map1) },
	{ map2, ARRAY_SIZE(map2) },
	{ map3, ARRAY_SIZE(map3) },
};
