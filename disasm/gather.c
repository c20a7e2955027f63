/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/perform.h"
#include "disasm/registers.h"
#include "disasm/xstate.h"

/*
 * Gathers load and scatters store one element a lane, from the lowest lane
 * on.  Source: Intel SDM volume 2, VGATHERDPS, VPGATHERDD, VSCATTERDPS.
 */
struct gather {
	const struct xstate *xstate;
	const struct insn *insn;
	struct cpu *cpu;
	const struct memory *memory;
	struct effect *effects;
	unsigned count; /* of effects */
	uint64_t lanes;
	uint64_t base; /* what all addresses have in common */
	uint8_t indices[XSTATE_VECTOR];
	uint8_t value[XSTATE_VECTOR];
};

static bool scatters(const struct insn *insn)
{
	return insn->op & ACCESS_WRITE;
}

/* Encodings that raise #UD. */
static bool invalid(const struct insn *insn)
{
	const uint8_t *evex = insn->bytes + insn->modrm - 4;

	if (insn->encoding != INSN_EVEX)
		return insn->reg == insn->indices || insn->reg == insn->vvvv ||
		       insn->vvvv == insn->indices;
	/* No mask, zeroing, broadcast, a fourth length, a vvvv. */
	return !insn->mask || evex[2] & 0x90 || (evex[2] >> 5 & 3) == 3 ||
	       insn->vvvv & 15 ||
	       (!scatters(insn) && insn->reg == insn->indices);
}

static uint64_t address(const struct gather *gather, unsigned lane)
{
	const struct insn *insn = gather->insn;
	uint64_t addr;
	int64_t index;

	if (insn->opcode & 1) {
		memcpy(&index, gather->indices + 8 * lane, 8);
	} else {
		int32_t narrow;

		memcpy(&narrow, gather->indices + 4 * lane, 4);
		index = narrow;
	}
	addr = gather->base + (uint64_t)index * insn->scale;
	if (insn->address32)
		addr = (uint32_t)addr;
	return addr + segment_base(&gather->cpu->regs, insn->segment);
}

/* Lane after lane, what follows the one before in memory is one access. */
static void note(struct gather *gather, uint64_t addr, const uint8_t *old,
		 const uint8_t *new)
{
	unsigned size = gather->insn->element;
	struct effect *last =
		gather->count ? &gather->effects[gather->count - 1] : NULL;

	if (!last || last->access.addr + last->access.size != addr) {
		effect_set(&gather->effects[gather->count++], addr, size,
			   gather->insn->op, old, new);
		return;
	}
	/* A whole vector is what an effect can show. */
	memcpy(last->old + last->shown, old, size);
	memcpy(last->new + last->shown, new, size);
	last->shown += size;
	last->access.size += size;
}

static int load_lanes(struct gather *gather)
{
	unsigned size = gather->insn->element;

	for (unsigned i = 0; i < gather->insn->lanes; i++) {
		uint8_t *lane = gather->value + i * size;
		uint64_t addr = address(gather, i);
		int r;

		if (!(gather->lanes >> i & 1))
			continue;
		r = memory_read(gather->memory, addr, lane, size);
		if (r < 0)
			return r;
		note(gather, addr, lane, lane);
	}
	return 0;
}

/* Lanes may fall on each other: what was there is put back in reverse. */
static int unstore_lanes(struct gather *gather, unsigned n,
			 const uint8_t *before)
{
	unsigned size = gather->insn->element;
	int r = 0;

	while (n--)
		if (gather->lanes >> n & 1)
			r = first_error(r,
					memory_write(gather->memory,
						     address(gather, n),
						     before + n * size, size));
	return r;
}

static int store_lanes(struct gather *gather)
{
	uint8_t before[XSTATE_VECTOR];
	unsigned size = gather->insn->element;

	for (unsigned i = 0; i < gather->insn->lanes; i++) {
		const uint8_t *lane = gather->value + i * size;
		uint8_t *old = before + i * size;
		uint64_t addr = address(gather, i);
		int r;

		if (!(gather->lanes >> i & 1))
			continue;
		r = memory_read(gather->memory, addr, old, size);
		if (r == 0)
			r = memory_write(gather->memory, addr, lane, size);
		if (r < 0)
			return first_error(unstore_lanes(gather, i, before), r);
		note(gather, addr, old, lane);
	}
	return 0;
}

/* Every lane is done: the mask is empty, what lies beyond the vector zero. */
static void finish(struct gather *gather)
{
	const struct insn *insn = gather->insn;
	static const uint8_t zero[XSTATE_VECTOR];
	unsigned used = insn->lanes * insn->element;

	if (insn->encoding == INSN_EVEX)
		xstate_set_mask(gather->xstate, gather->cpu, insn->mask, 0);
	else
		xstate_set_vector(gather->xstate, gather->cpu, insn->vvvv,
				  zero);
	if (scatters(insn))
		return;
	memset(gather->value + used, 0, XSTATE_VECTOR - used);
	xstate_set_vector(gather->xstate, gather->cpu, gather->insn->reg,
			  gather->value);
}

int perform_gather(const struct xstate *xstate, const struct insn *insn,
		   struct cpu *cpu, const struct memory *memory,
		   struct effect *effects, unsigned *count)
{
	struct gather gather = { .xstate = xstate,
				 .insn = insn,
				 .cpu = cpu,
				 .memory = memory,
				 .effects = effects,
				 .base = insn->offset };
	int r;

	if (invalid(insn) ||
	    xstate_lanes(xstate, insn, cpu, &gather.lanes) != 0)
		return EXECUTE_STEP;
	if (insn->base >= 0)
		gather.base += register_get(&cpu->regs, insn->base);
	xstate_get_vector(xstate, cpu, insn->indices, gather.indices);
	xstate_get_vector(xstate, cpu, insn->reg, gather.value);
	r = scatters(insn) ? store_lanes(&gather) : load_lanes(&gather);
	if (r < 0)
		return r;
	finish(&gather);
	perform_advance(insn, cpu);
	*count = gather.count;
	return EXECUTE_DONE;
}
