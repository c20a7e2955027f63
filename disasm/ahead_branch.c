/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/ahead_parts.h"
#include "disasm/registers.h"

/* The condition of jcc, by its low four bits (SDM volume 1, appendix B). */
static bool holds(uint64_t flags, unsigned condition)
{
	bool less = !(flags & FLAG_SF) != !(flags & FLAG_OF);
	bool result;

	switch (condition >> 1 & 7) {
	case 0:
		result = flags & FLAG_OF;
		break;
	case 1:
		result = flags & FLAG_CF;
		break;
	case 2:
		result = flags & FLAG_ZF;
		break;
	case 3:
		result = flags & (FLAG_CF | FLAG_ZF);
		break;
	case 4:
		result = flags & FLAG_SF;
		break;
	case 5:
		result = flags & FLAG_PF;
		break;
	case 6:
		result = less;
		break;
	default:
		result = less || flags & FLAG_ZF;
		break;
	}
	return result != (condition & 1);
}

static int64_t distance(const struct insn *insn)
{
	const uint8_t *from = insn->bytes + insn->immediate;
	int32_t d;

	if (insn->length - insn->immediate == 1)
		return (int8_t)from[0];
	memcpy(&d, from, sizeof(d));
	return d;
}

/* loopne, loope, loop, jrcxz */
static bool counts_on(const struct insn *insn, struct user_regs_struct *regs)
{
	uint64_t mask = insn->address32 ? UINT32_MAX : UINT64_MAX;
	bool zero = regs->eflags & FLAG_ZF;

	if (insn->opcode == 0xe3)
		return !(regs->rcx & mask);
	regs->rcx = (regs->rcx - 1) & mask;
	if (!regs->rcx)
		return false;
	return insn->opcode == 0xe2 || zero == (insn->opcode == 0xe1);
}

static void lea(const struct insn *insn, struct user_regs_struct *regs)
{
	struct insn plain = *insn;
	uint64_t addr, old = register_get(regs, insn->reg);

	plain.segment = 0;
	addr = access_address(&plain, regs);
	if (insn->operand16 && !insn->wide)
		addr = (old & ~UINT64_C(0xffff)) | (addr & 0xffff);
	else if (!insn->wide)
		addr = (uint32_t)addr;
	register_set(regs, insn->reg, addr);
}

static bool is_legacy(const struct insn *insn, unsigned map)
{
	return insn->encoding == INSN_LEGACY && insn->map == map && !insn->lock;
}

static bool is_endbr(const struct insn *insn)
{
	return insn->opcode == 0x1e && insn->repeat == 0xf3 &&
	       insn->bytes[insn->modrm] == 0xfa;
}

/* nop, prefetch, endbr64 */
static bool is_nothing(const struct insn *insn)
{
	if (!is_legacy(insn, 1))
		return false;
	if (insn->opcode == 0x0d ||
	    (insn->opcode >= 0x18 && insn->opcode <= 0x1f && insn->memory))
		return insn->memory;
	return insn->opcode == 0x1f || is_endbr(insn);
}

bool ahead_is_branch(const struct insn *insn)
{
	if (is_nothing(insn))
		return true;
	/* The makers differ about a branch with 66. */
	if (is_legacy(insn, 1))
		return insn->opcode >= 0x80 && insn->opcode <= 0x8f &&
		       !insn->operand16;
	if (!is_legacy(insn, 0))
		return false;
	switch (insn->opcode) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
	case 0xe9:
	case 0xeb:
		return !insn->operand16;
	case 0xff:
		return !insn->memory && (insn->reg & 7) == 4 &&
		       !insn->operand16;
	case 0x8d:
		return insn->memory;
	case 0xfc ... 0xfd: /* cld, std */
		return true;
	default:
		return false;
	}
}

/* Whether the branch @insn is taken, and where it goes to then. */
static bool taken(const struct insn *insn, struct user_regs_struct *regs,
		  uint64_t *to)
{
	*to = regs->rip + insn->length + distance(insn);
	switch (insn->opcode) {
	case 0xe0 ... 0xe3:
		return counts_on(insn, regs);
	case 0xe9:
	case 0xeb:
		return true;
	default:
		return holds(regs->eflags, insn->opcode & 15);
	}
}

static uint64_t jump_register(const struct insn *insn,
			      const struct user_regs_struct *regs)
{
	return register_get(regs, (insn->bytes[insn->modrm] & 7) |
					  (insn->rex & 1) << 3);
}

int ahead_branch(const struct insn *insn, struct user_regs_struct *regs)
{
	uint64_t next = regs->rip + insn->length, to;
	uint64_t rcx = regs->rcx;

	if (insn->map == 0 && insn->opcode == 0x8d) {
		lea(insn, regs);
	} else if (insn->map == 0 && (insn->opcode & 0xfe) == 0xfc) {
		regs->eflags &= ~(uint64_t)FLAG_DF;
		regs->eflags |= insn->opcode & 1 ? FLAG_DF : 0;
	} else if (insn->map == 0 && insn->opcode == 0xff) {
		next = jump_register(insn, regs);
	} else if (!is_nothing(insn) && taken(insn, regs, &to)) {
		next = to;
	}
	/* A jump out of user memory faults, and where differs. */
	if (next >> 47) {
		regs->rcx = rcx;
		return EXECUTE_STEP;
	}
	regs->rip = next;
	regs->eflags &= ~(uint64_t)FLAG_RF;
	return EXECUTE_DONE;
}
