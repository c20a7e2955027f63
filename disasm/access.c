/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/access.h"
#include "disasm/insn.h"
#include "disasm/registers.h"
#include "disasm/xstate.h"

/* Of an XSAVE area: its header, and the first of its components. */
enum { XSAVE_HEADER = 512, XSAVE_START = 576 };

/* The registers and the displacement summed up, without the segment. */
static uint64_t offset_of(const struct insn *insn,
			  const struct user_regs_struct *regs)
{
	uint64_t addr = insn->offset;

	if (insn->rip_relative)
		addr += regs->rip + insn->length;
	if (insn->base >= 0)
		addr += register_get(regs, insn->base);
	if (insn->index >= 0)
		addr += register_get(regs, insn->index) * insn->scale;
	return addr;
}

/* How far a bit string's register moves the operand, in bytes. */
static int64_t bit_offset(const struct insn *insn,
			  const struct user_regs_struct *regs)
{
	int64_t bit = register_get(regs, insn->reg);

	if (insn->size == 2)
		return ((int16_t)bit >> 4) * 2;
	if (insn->size == 4)
		return ((int32_t)bit >> 5) * 4;
	return (bit >> 6) * 8;
}

uint64_t access_address(const struct insn *insn,
			const struct user_regs_struct *regs)
{
	uint64_t addr = offset_of(insn, regs);

	/* pop computes its address after it has moved rsp */
	if (insn->encoding == INSN_LEGACY && insn->map == 0 &&
	    insn->opcode == 0x8f && insn->base == RSP)
		addr += insn->size;
	if (insn->bits)
		addr += bit_offset(insn, regs);
	if (insn->address32)
		addr = (uint32_t)addr;
	return addr + segment_base(regs, insn->segment);
}

unsigned access_candidates(const struct insn *insn,
			   const struct user_regs_struct *regs, uint64_t ret[3])
{
	uint64_t base = 0, index = 0;
	unsigned n = 0;

	if (insn->base >= 0) {
		base = register_get(regs, insn->base);
		ret[n++] = base;
	}
	if (insn->index >= 0) {
		index = register_get(regs, insn->index) * insn->scale;
		ret[n++] = index;
	}
	if (n == 2)
		ret[n++] = base + index;
	return n;
}

static unsigned add(struct access *ret, unsigned n, uint64_t addr,
		    uint64_t size, uint8_t op)
{
	ret[n] = (struct access){
		.addr = addr, .size = size, .op = op, .count = 1
	};
	return n + 1;
}

/* Accesses that follow each other in memory become one; returns how many. */
static unsigned join(struct access *access, unsigned n)
{
	unsigned last = 0;

	for (unsigned i = 1; i < n; i++)
		if (access[last].addr + access[last].size == access[i].addr)
			access[last].size += access[i].size;
		else
			access[++last] = access[i];
	return n ? last + 1 : 0;
}

/* One side of a string instruction from @addr on. */
static void add_run(const struct insn *insn,
		    const struct user_regs_struct *regs, uint64_t count,
		    struct access *access)
{
	count = min_u64(count, UINT32_MAX);
	access->count = count;
	access->size = count * insn->size;
	if (regs->eflags & FLAG_DF)
		access->addr -= (count - 1) * insn->size;
}

static unsigned string_of(const struct insn *insn,
			  const struct user_regs_struct *regs,
			  struct access ret[ACCESS_MAX])
{
	uint64_t mask = insn->address32 ? UINT32_MAX : UINT64_MAX;
	uint64_t source =
		(regs->rsi & mask) + segment_base(regs, insn->segment);
	uint64_t target = regs->rdi & mask;
	uint64_t count = insn->repeat ? regs->rcx & mask : 1;
	unsigned n = 0;

	if (insn->opcode == 0xd7) /* xlat */
		return add(ret, 0,
			   ((regs->rbx + (regs->rax & 0xff)) & mask) +
				   segment_base(regs, insn->segment),
			   1, ACCESS_READ);
	if (count == 0)
		return 0;
	switch (insn->opcode & ~1) {
	case 0xa4: /* movs */
		n = add(ret, n, source, insn->size, ACCESS_READ);
		n = add(ret, n, target, insn->size, ACCESS_WRITE);
		break;
	case 0xa6: /* cmps */
		n = add(ret, n, source, insn->size, ACCESS_READ);
		n = add(ret, n, target, insn->size, ACCESS_READ);
		break;
	case 0xaa: /* stos */
		n = add(ret, n, target, insn->size, ACCESS_WRITE);
		break;
	case 0xac: /* lods */
		n = add(ret, n, source, insn->size, ACCESS_READ);
		break;
	default: /* scas */
		n = add(ret, n, target, insn->size, ACCESS_READ);
		break;
	}
	for (unsigned i = 0; i < n; i++)
		add_run(insn, regs, count, &ret[i]);
	return n;
}

static unsigned stack_of(const struct insn *insn,
			 const struct user_regs_struct *regs,
			 struct access ret[ACCESS_MAX])
{
	uint64_t top = regs->rsp, size = insn->size;
	uint64_t explicit = insn->memory ? access_address(insn, regs) : 0;
	unsigned n = 0;

	switch (insn->opcode) {
	case 0xff: /* call, jmp, push */
		if (insn->memory)
			n = add(ret, n, explicit, size, ACCESS_READ);
		if ((insn->reg & 7) == 4)
			return n;
		return add(ret, n, top - size, size, ACCESS_WRITE);
	case 0x8f: /* pop */
		n = add(ret, n, top, size, ACCESS_READ);
		if (insn->memory)
			n = add(ret, n, explicit, size, ACCESS_WRITE);
		return n;
	case 0x58 ... 0x5f: /* pop */
	case 0x9d:	    /* popf */
	case 0xc2 ... 0xc3: /* ret */
		return add(ret, n, top, size, ACCESS_READ);
	case 0xc9: /* leave */
		return add(ret, n, regs->rbp, size, ACCESS_READ);
	default: /* push, pushf, call, enter */
		return add(ret, n, top - size, size, ACCESS_WRITE);
	}
}

/*
 * An XSAVE area at @addr: legacy region, header, and each component that is
 * asked for.  What of it is in its initial state may be left out by xsavec and
 * xsaveopt, which is not to be seen here.
 */
static unsigned xsave_of(const struct insn *insn,
			 const struct user_regs_struct *regs,
			 struct access ret[ACCESS_MAX])
{
	const struct xstate *machine = xstate_machine();
	uint64_t wanted = machine->enabled & (uint32_t)regs->rax;
	uint64_t addr = access_address(insn, regs), at = XSAVE_START;
	bool compact = insn->opcode == 0xc7;
	unsigned n = 0;

	if (wanted & XSTATE_LEGACY)
		n = add(ret, n, addr, XSAVE_HEADER, insn->op);
	n = add(ret, n, addr + XSAVE_HEADER, XSAVE_START - XSAVE_HEADER,
		insn->op);
	for (unsigned i = 2; i < XSTATE_COMPONENTS; i++) {
		if (!(wanted >> i & 1))
			continue;
		if (!compact)
			at = machine->component[i].offset;
		else if (machine->component[i].aligned)
			at = (at + 63) & ~UINT64_C(63);
		n = add(ret, n, addr + at, machine->component[i].size,
			insn->op);
		at += machine->component[i].size;
	}
	return join(ret, n);
}

/* What is stepped, as far as bytes and registers tell. */
static unsigned step_of(const struct insn *insn,
			const struct user_regs_struct *regs,
			struct access ret[ACCESS_MAX])
{
	uint64_t target;
	unsigned n = 0;

	if (insn->encoding == INSN_LEGACY && insn->memory && !insn->size)
		return xsave_of(insn, regs, ret);
	if (insn->memory && insn->op)
		n = add(ret, n, access_address(insn, regs), insn->size,
			insn->op);
	if (insn->encoding != INSN_LEGACY)
		return n;
	if (insn->map == 2 && insn->opcode == 0xf8) { /* movdir64b, enqcmd */
		target = register_get(regs, insn->reg);
		if (insn->address32)
			target = (uint32_t)target;
		return add(ret, n, target, insn->size, ACCESS_WRITE);
	}
	if (insn->map != 1 || insn->memory)
		return n;
	if (insn->opcode == 0x01 && insn->bytes[insn->modrm] == 0xfc) {
		/* clzero: the line that rax lies in */
		target = insn->address32 ? (uint32_t)regs->rax : regs->rax;
		target += segment_base(regs, insn->segment);
		return add(ret, n, target & ~UINT64_C(63), 64, ACCESS_WRITE);
	}
	if ((insn->opcode & 0xf7) == 0xa0) /* push fs, push gs */
		return add(ret, n, regs->rsp - insn->size, insn->size,
			   ACCESS_WRITE);
	if ((insn->opcode & 0xf7) == 0xa1) /* pop fs, pop gs */
		return add(ret, n, regs->rsp, insn->size, ACCESS_READ);
	return n;
}

unsigned access_of(const struct insn *insn, const struct user_regs_struct *regs,
		   struct access ret[ACCESS_MAX])
{
	switch (insn->kind) {
	case INSN_STRING:
		return string_of(insn, regs, ret);
	case INSN_STACK:
		return stack_of(insn, regs, ret);
	case INSN_STEP:
		return step_of(insn, regs, ret);
	case INSN_NATIVE:
		if (!insn->memory || !insn->op)
			return 0;
		return add(ret, 0, access_address(insn, regs), insn->size,
			   insn->op);
	case INSN_GATHER:
	case INSN_NONE:
	default:
		return 0;
	}
}

bool access_writes(const struct insn *insn, const struct user_regs_struct *regs,
		   uint64_t addr)
{
	struct access access[ACCESS_MAX];
	unsigned n = access_of(insn, regs, access);

	for (unsigned i = 0; i < n; i++)
		if (access[i].op & ACCESS_WRITE &&
		    addr - access[i].addr < access[i].size)
			return true;
	/* Without an address where lanes tell it, or the size is not known. */
	return insn->op & ACCESS_WRITE;
}

const char *access_name(uint8_t op)
{
	static const char *const names[] = { "", "read", "write", "rw" };

	return names[op & ACCESS_RW];
}
