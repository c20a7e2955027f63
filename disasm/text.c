/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/access.h"
#include "disasm/tables.h"
#include "disasm/text.h"

/* How the operands stand: besides memory, ModRM.reg comes first. */
enum {
	MASK = 1 << 0,	 /* reg is a mask */
	OTHER = 1 << 1,	 /* vvvv is an operand */
	NUMBER = 1 << 2, /* an immediate */
	VEX = 1 << 3,	 /* else EVEX */
	VSIB = 1 << 4,	 /* memory by a vector of indices */
};

struct name {
	uint8_t map, opcode, prefixes;
	uint8_t operands;
	const char *name; /* for W 0, and after a space for W 1 */
};

static const struct name names[] = {
	{ 1, 0x90, NP, MASK | VEX, "kmovw kmovq" },
	{ 1, 0x90, P66, MASK | VEX, "kmovb kmovd" },
	{ 1, 0x91, NP, MASK | VEX, "kmovw kmovq" },
	{ 1, 0x91, P66, MASK | VEX, "kmovb kmovd" },
	{ 1, 0x64, P66, MASK | OTHER, "vpcmpgtb" },
	{ 1, 0x65, P66, MASK | OTHER, "vpcmpgtw" },
	{ 1, 0x66, P66, MASK | OTHER, "vpcmpgtd" },
	{ 1, 0x74, P66, MASK | OTHER, "vpcmpeqb" },
	{ 1, 0x75, P66, MASK | OTHER, "vpcmpeqw" },
	{ 1, 0x76, P66, MASK | OTHER, "vpcmpeqd" },
	{ 2, 0x26, P66, MASK | OTHER, "vptestmb vptestmw" },
	{ 2, 0x26, PF3, MASK | OTHER, "vptestnmb vptestnmw" },
	{ 2, 0x27, P66, MASK | OTHER, "vptestmd vptestmq" },
	{ 2, 0x27, PF3, MASK | OTHER, "vptestnmd vptestnmq" },
	{ 2, 0x29, P66, MASK | OTHER, "vpcmpeqq" },
	{ 2, 0x37, P66, MASK | OTHER, "vpcmpgtq" },
	{ 3, 0x1e, P66, MASK | OTHER | NUMBER, "vpcmpud vpcmpuq" },
	{ 3, 0x1f, P66, MASK | OTHER | NUMBER, "vpcmpd vpcmpq" },
	{ 3, 0x3e, P66, MASK | OTHER | NUMBER, "vpcmpub vpcmpuw" },
	{ 3, 0x3f, P66, MASK | OTHER | NUMBER, "vpcmpb vpcmpw" },
	{ 3, 0x25, P66, OTHER | NUMBER, "vpternlogd vpternlogq" },
	{ 1, 0xda, P66, OTHER, "vpminub" },
	{ 1, 0xde, P66, OTHER, "vpmaxub" },
	{ 1, 0xd8, P66, OTHER, "vpsubusb" },
	{ 1, 0xdb, P66, OTHER, "vpandd vpandq" },
	{ 1, 0xeb, P66, OTHER, "vpord vporq" },
	{ 1, 0xef, P66, OTHER, "vpxord vpxorq" },
	{ 2, 0x39, P66, OTHER, "vpminsd vpminsq" },
	{ 2, 0x3b, P66, OTHER, "vpminud vpminuq" },
	{ 2, 0x75, P66, OTHER, "vpermi2b vpermi2w" },
	{ 2, 0x7d, P66, OTHER, "vpermt2b vpermt2w" },
	{ 2, 0x8d, P66, OTHER, "vpermb vpermw" },
	{ 2, 0x63, P66, 0, "vpcompressb vpcompressw" },
	{ 2, 0x8b, P66, 0, "vpcompressd vpcompressq" },
	{ 2, 0x90, P66, VSIB, "vpgatherdd vpgatherdq" },
	{ 2, 0x91, P66, VSIB, "vpgatherqd vpgatherqq" },
	{ 2, 0x92, P66, VSIB, "vgatherdps vgatherdpd" },
	{ 2, 0x93, P66, VSIB, "vgatherqps vgatherqpd" },
	{ 2, 0xa0, P66, VSIB, "vpscatterdd vpscatterdq" },
	{ 2, 0xa1, P66, VSIB, "vpscatterqd vpscatterqq" },
	{ 2, 0xa2, P66, VSIB, "vscatterdps vscatterdpd" },
	{ 2, 0xa3, P66, VSIB, "vscatterqps vscatterqpd" },
	{ 2, 0x90, P66, VSIB | VEX, "vpgatherdd vpgatherdq" },
	{ 2, 0x91, P66, VSIB | VEX, "vpgatherqd vpgatherqq" },
	{ 2, 0x92, P66, VSIB | VEX, "vgatherdps vgatherdpd" },
	{ 2, 0x93, P66, VSIB | VEX, "vgatherqps vgatherqpd" },
};

/* What has been written of the text. */
struct line {
	char *text;
	size_t at;
};

static void put(struct line *line, const char *word)
{
	size_t n = min_u64(strlen(word), INSN_TEXT - 1 - line->at);

	memcpy(line->text + line->at, word, n);
	line->at += n;
	line->text[line->at] = '\0';
}

static void put_number(struct line *line, const char *before, uint64_t number,
		       bool hex)
{
	char word[48];

	if (hex && number > 9)
		snprintf(word, sizeof(word), "%s0x%lx", before, number);
	else
		snprintf(word, sizeof(word), "%s%lu", before, number);
	put(line, word);
}

static void put_vector(struct line *line, unsigned bytes, unsigned number)
{
	put_number(line,
		   bytes == 64	 ? "zmm"
		   : bytes == 32 ? "ymm"
				 : "xmm",
		   number, false);
}

static void put_general(struct line *line, const struct insn *insn,
			unsigned number)
{
	static const char *const low[] = { "ax", "cx", "dx", "bx",
					   "sp", "bp", "si", "di" };

	if (number < 8) {
		put(line, insn->address32 ? "e" : "r");
		put(line, low[number]);
		return;
	}
	put_number(line, "r", number, false);
	put(line, insn->address32 ? "d" : "");
}

/* Bytes of the vector that holds the indices of all lanes. */
static unsigned index_bytes(const struct insn *insn)
{
	return max_u64(16, insn->lanes * (insn->opcode & 1 ? 8 : 4));
}

static const char *size_name(unsigned size)
{
	static const char *const known[] = { "byte",   "word",	  "dword",
					     "qword",  "xmmword", "ymmword",
					     "zmmword" };

	return known[__builtin_ctz(size) % ARRAY_SIZE(known)];
}

static void put_address(struct line *line, const struct insn *insn, uint64_t ip)
{
	const char *plus = "";

	put(line, size_name(insn->size));
	put(line, " ptr ");
	if (insn->segment)
		put(line, insn->segment == 0x64 ? "fs:" : "gs:");
	put(line, "[");
	if (insn->rip_relative) {
		put_number(line, "", ip + insn->length + insn->offset, true);
		put(line, "]");
		return;
	}
	if (insn->base >= 0) {
		put_general(line, insn, insn->base);
		plus = " + ";
	}
	if (insn->index >= 0 || insn->indices >= 0) {
		put(line, plus);
		if (insn->index >= 0)
			put_general(line, insn, insn->index);
		else
			put_vector(line, index_bytes(insn), insn->indices);
		if (insn->scale > 1)
			put_number(line, "*", insn->scale, false);
		plus = " + ";
	}
	if (insn->offset < 0 && *plus)
		put_number(line, " - ", -(uint64_t)insn->offset, true);
	else if (insn->offset || !*plus)
		put_number(line, plus, insn->offset, true);
	put(line, "]");
	if (insn->broadcast)
		put_number(line, "{1to", insn->vector / insn->size, false);
	put(line, insn->broadcast ? "}" : "");
}

/* A store names memory first; its mask stands with what is written. */
static void put_operands(struct line *line, const struct insn *insn,
			 const struct name *name, uint64_t ip)
{
	bool store = insn->op & ACCESS_WRITE;
	bool zero = insn->encoding == INSN_EVEX &&
		    insn->bytes[insn->modrm - 2] & 0x80;
	/* With indices of 8 bytes and lanes of 4 the vector is half. */
	unsigned bytes = name->operands & VSIB
				 ? max_u64(16, insn->lanes * insn->element)
				 : insn->vector;

	for (unsigned i = 0; i < 2; i++) {
		if (store == (i == 0))
			put_address(line, insn, ip);
		else if (name->operands & MASK)
			put_number(line, "k", insn->reg & 7, false);
		else
			put_vector(line, bytes, insn->reg);
		if (i == 0 && insn->mask)
			put_number(line, " {k", insn->mask, false);
		if (i == 0 && insn->mask)
			put(line, zero ? "} {z}" : "}");
		if (i == 0 && name->operands & OTHER) {
			put(line, ", ");
			put_vector(line, insn->vector, insn->vvvv);
		}
		put(line, i == 0 ? ", " : "");
	}
	if (name->operands & VSIB && name->operands & VEX) {
		put(line, ", ");
		put_vector(line, bytes, insn->vvvv);
	}
	if (name->operands & NUMBER)
		put_number(line, ", ", insn->bytes[insn->immediate], true);
}

static const struct name *find_name(const struct insn *insn)
{
	bool vex = insn->encoding == INSN_VEX2 || insn->encoding == INSN_VEX3;

	if (insn->encoding == INSN_LEGACY || !insn->size)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].map == insn->map &&
		    names[i].opcode == insn->opcode &&
		    names[i].prefixes >> insn->prefix & 1 &&
		    !(names[i].operands & VEX) == !vex)
			return &names[i];
	return NULL;
}

bool text_of(const struct insn *insn, uint64_t ip, char text[INSN_TEXT])
{
	const struct name *name = find_name(insn);
	struct line line = { text, 0 };
	const char *space;
	char word[32];

	if (!name || (!insn->memory && insn->indices < 0))
		return false;
	space = strchr(name->name, ' ');
	snprintf(word, sizeof(word), "%s", name->name);
	if (space && insn->wide)
		snprintf(word, sizeof(word), "%s", space + 1);
	else if (space)
		word[space - name->name] = '\0';
	put(&line, word);
	put(&line, " ");
	put_operands(&line, insn, name, ip);
	return true;
}
