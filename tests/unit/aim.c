/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/registers.h"
#include "tests/unit/aim.h"

enum { FS_BASE = 0x10000, GS_BASE = 0x20000 };

/*
 * A place for the operand: mostly well inside, at times over two pages or over
 * the end, often so when a mask decides what is touched there.
 */
static uint64_t choose(struct random *random, const struct insn *insn)
{
	unsigned often = insn->mask || insn->lane == LANE_SIGN ? 2 : 8;
	uint64_t back = random_below(random, insn->size + 2);

	if (random_below(random, often) == 0)
		return ORACLE_WINDOW + ORACLE_SIZE - back;
	if (random_below(random, 8) == 0)
		return ORACLE_WINDOW + PAGE - back;
	if (random_below(random, 2))
		return ORACLE_WINDOW + 2048 + 64 * random_below(random, 32);
	return ORACLE_WINDOW + 2048 + random_below(random, 2048);
}

/* An address at or near which operands may overlap, or leave the window. */
static uint64_t near(struct random *random, uint64_t addr)
{
	if (random_below(random, 3) == 0)
		return addr + random_below(random, 41) - 20;
	if (random_below(random, 4) == 0)
		return ORACLE_WINDOW +
		       random_below(random, 40) * (ORACLE_SIZE / 39);
	return ORACLE_WINDOW + 1024 + random_below(random, 4096);
}

static uint64_t set_segment(struct scene *scene)
{
	struct user_regs_struct *regs = &scene->start.regs;

	if (scene->insn.segment == 0x64)
		return regs->fs_base = FS_BASE;
	if (scene->insn.segment == 0x65)
		return regs->gs_base = GS_BASE;
	return 0;
}

static void aim_registers(struct scene *scene, uint64_t want)
{
	const struct insn *insn = &scene->insn;
	struct user_regs_struct *regs = &scene->start.regs;
	uint64_t small = random_below(&scene->random, 64);

	want -= insn->offset;
	if (insn->base >= 0 && insn->base == insn->index) {
		register_set(regs, insn->base, want / (1 + insn->scale));
	} else if (insn->base >= 0) {
		if (insn->index >= 0) {
			register_set(regs, insn->index, small);
			want -= small * insn->scale;
		}
		register_set(regs, insn->base, want);
	} else {
		register_set(regs, insn->index, want / insn->scale);
	}
}

/* Of unknown size: it is in eax, and always has the legacy region here. */
static bool is_xsave(const struct insn *insn)
{
	return insn->kind == INSN_STEP && insn->encoding == INSN_LEGACY &&
	       insn->memory && !insn->size;
}

/* fxrstor and xrstor want an image; the control words no reserved bits. */
static void make_sensible(struct scene *scene)
{
	uint64_t addr = access_address(&scene->insn, &scene->start.regs);
	uint8_t *at = scene->before + (addr - ORACLE_WINDOW);

	if (addr - ORACLE_WINDOW > ORACLE_SIZE - scene->start.xstate_size)
		return;
	if (is_xsave(&scene->insn))
		memcpy(at, scene->start.xstate, scene->start.xstate_size);
	else if (scene->insn.size == 512)
		memcpy(at, scene->start.xstate, 512);
	else if (scene->insn.map == 1 && scene->insn.opcode == 0xae)
		at[2] = at[3] = 0;
}

static bool aim_operand(struct scene *scene, uint8_t bytes[INSN_BYTES])
{
	struct insn *insn = &scene->insn;
	struct user_regs_struct *regs = &scene->start.regs;
	uint64_t want = choose(&scene->random, insn) - set_segment(scene);
	bool own = insn->reg == insn->base || insn->reg == insn->index;

	if (insn->bits && own)
		return false;
	if (insn->bits)
		register_set(regs, insn->reg,
			     random_below(&scene->random, 4000) - 2000);
	if (insn->base >= 0 || insn->index >= 0) {
		aim_registers(scene, want);
		return true;
	}
	if (insn->rip_relative)
		want -= ORACLE_CODE + insn->length;
	memcpy(bytes + insn->displacement, &want,
	       insn->modrm < 0 && !insn->address32 ? 8 : 4);
	return insn_decode(bytes, INSN_BYTES, insn) == 0;
}

/* Lanes side by side, anywhere, on each other, or one of them nowhere. */
static bool aim_gather(struct scene *scene)
{
	const struct insn *insn = &scene->insn;
	struct random *random = &scene->random;
	unsigned kind = random_below(random, 4),
		 size = insn->opcode & 1 ? 8 : 4;
	uint64_t want = ORACLE_WINDOW + 4096 - set_segment(scene);
	uint8_t indices[XSTATE_VECTOR];
	unsigned step = max_u64(1, insn->element / insn->scale);

	for (unsigned i = 0; i < XSTATE_VECTOR / size; i++) {
		int64_t index = (int)random_below(random, 256) - 128;

		if (kind == 0)
			index = i * step;
		else if (kind == 1)
			index = random_below(random, 4) * step;
		else if (kind == 2 && random_below(random, 8) == 0)
			index = INT32_MIN;
		memcpy(indices + i * size, &index, size);
	}
	xstate_set_vector(&scene->machine, &scene->start, insn->indices,
			  indices);
	if (random_below(random, 4) == 0)
		want = choose(random, insn);
	if (insn->base >= 0)
		register_set(&scene->start.regs, insn->base,
			     want - insn->offset);
	return insn->base >= 0;
}

/* Few different bytes, so that comparisons go on for a while. */
static void make_alike(struct scene *scene)
{
	struct random *random = &scene->random;
	unsigned kinds = 1 + random_below(random, 3);

	for (size_t i = 0; i < ORACLE_SIZE; i++)
		scene->before[i] = random_below(random, 64)
					   ? 0
					   : random_below(random, kinds);
	if (random_below(random, 2))
		scene->start.regs.rax = random_below(random, 2);
}

static bool aim_string(struct scene *scene)
{
	struct user_regs_struct *regs = &scene->start.regs;
	struct random *random = &scene->random;
	uint64_t base = set_segment(scene);

	regs->rdi = near(random, ORACLE_WINDOW + 2048);
	regs->rsi = near(random, regs->rdi) - base;
	regs->rcx = random_below(random, 400);
	if (random_below(random, 8) == 0)
		regs->rcx = random_below(random, 3);
	else if (random_below(random, 16) == 0)
		regs->rcx = random_below(random, ORACLE_SIZE);
	if (random_below(random, 2))
		regs->eflags |= FLAG_DF;
	if (scene->insn.opcode == 0xd7)
		regs->rbx = near(random, ORACLE_WINDOW + 2048) - base;
	/* Only the lower half counts. */
	if (scene->insn.address32) {
		regs->rdi |= random_next(random) << 32;
		regs->rsi |= random_next(random) << 32;
		regs->rbx |= random_next(random) << 32;
		if (random_below(random, 2))
			regs->rcx |= random_next(random) << 32;
	}
	if (random_below(random, 2))
		make_alike(scene);
	return true;
}

/* Branch targets that can be gone to, flags that do not trap. */
static void make_reachable(struct scene *scene)
{
	for (size_t i = 0; i < ORACLE_SIZE; i += 8) {
		scene->before[i + 1] &= 0xfe;
		scene->before[i + 2] &= ~0x24;
		memset(scene->before + i + 4, 0, 4);
	}
}

static bool aim_stack(struct scene *scene, uint8_t bytes[INSN_BYTES])
{
	struct user_regs_struct *regs = &scene->start.regs;
	struct random *random = &scene->random;
	const struct insn *insn = &scene->insn;
	uint64_t top = ORACLE_WINDOW + 4096 + 8 * random_below(random, 64);

	if (insn->memory && !aim_operand(scene, bytes))
		return false;
	/* popf must not get at ID: nothing could clear it in the child. */
	if (insn->opcode == 0x9d)
		top &= ~UINT64_C(7);
	else if (random_below(random, 16) == 0)
		top = ORACLE_WINDOW + random_below(random, 16);
	else if (random_below(random, 16) == 0)
		top = ORACLE_WINDOW + ORACLE_SIZE - random_below(random, 16);
	if (!insn->memory || (insn->base != RSP && insn->index != RSP))
		regs->rsp = top;
	if (insn->opcode == 0xc9)
		regs->rbp = top + 64;
	/* A branch through a register, to somewhere that exists. */
	if (insn->opcode == 0xff && !insn->memory && (insn->reg & 7) != 6)
		for (unsigned i = 0; i < REGISTERS; i++)
			if (i != RSP)
				register_set(regs, i, 0x12345678 + i);
	make_reachable(scene);
	return true;
}

/* clzero and the like: whichever register it is. */
static bool aim_implied(struct scene *scene)
{
	struct user_regs_struct *regs = &scene->start.regs;
	uint64_t want = choose(&scene->random, &scene->insn);

	regs->rax = regs->rsp = want;
	return true;
}

bool aim(struct scene *scene, uint8_t bytes[INSN_BYTES])
{
	switch (scene->insn.kind) {
	case INSN_STRING:
		return aim_string(scene);
	case INSN_STACK:
		return aim_stack(scene, bytes);
	case INSN_GATHER:
		return aim_gather(scene);
	case INSN_NATIVE:
	case INSN_STEP:
	case INSN_NONE:
	default:
		break;
	}
	if (!scene->insn.memory)
		return aim_implied(scene);
	if (!aim_operand(scene, bytes))
		return false;
	if (is_xsave(&scene->insn))
		scene->start.regs.rax |= XSTATE_LEGACY;
	/* movdir64b: a second operand, of a line, in a register */
	if (scene->insn.map == 2 && scene->insn.opcode == 0xf8)
		register_set(&scene->start.regs, scene->insn.reg,
			     ORACLE_WINDOW + 64);
	make_sensible(scene);
	return true;
}
