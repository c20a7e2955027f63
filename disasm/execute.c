/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "disasm/native.h"
#include "disasm/perform.h"
#include "disasm/registers.h"
#include "disasm/xstate.h"

struct execute {
	struct native *native;
	struct run_buffer buffer;
	uint8_t backup[XSTATE_MAX];
};

int execute_new(struct execute **ret)
{
	_cleanup_(execute_freep) struct execute *execute =
		calloc(1, sizeof(*execute));
	int r;

	if (!execute)
		return -ENOMEM;
	r = native_new(&execute->native);
	if (r < 0)
		return r;
	*ret = take(execute);
	return 0;
}

void execute_free(struct execute *execute)
{
	if (!execute)
		return;
	native_free(execute->native);
	free(execute);
}

struct native *execute_native(struct execute *execute)
{
	return execute->native;
}

void perform_advance(const struct insn *insn, struct cpu *cpu)
{
	cpu->regs.rip += insn->length;
	/* A stop at a fault shows RF; each instruction that ends clears it. */
	cpu->regs.eflags &= ~(uint64_t)FLAG_RF;
}

void effect_set(struct effect *effect, uint64_t addr, uint64_t size, uint8_t op,
		const void *old, const void *new)
{
	effect->access = (struct access){
		.addr = addr, .size = size, .op = op, .count = 1
	};
	effect->shown = min_u64(size, EFFECT_SHOWN);
	memcpy(effect->old, old, effect->shown);
	memcpy(effect->new, new, effect->shown);
}

/* Bytes of the operand that are touched, one behind the other. */
struct part {
	uint16_t offset, size;
};

/* The runs of set bits in @lanes. */
static int split(uint64_t lanes, unsigned element, struct part *parts)
{
	int n = 0;

	for (unsigned i = 0; i < 64 && lanes >> i; i++) {
		if (!(lanes >> i & 1))
			continue;
		if (i > 0 && lanes >> (i - 1) & 1)
			parts[n - 1].size += element;
		else
			parts[n++] = (struct part){ i * element, element };
	}
	return n;
}

/* The elements of an operand that is repeated, by the lanes that use them. */
static uint64_t fold(uint64_t lanes, unsigned elements)
{
	uint64_t used = 0;

	for (unsigned i = 0; i < 64; i += elements)
		used |= lanes >> i;
	return elements < 64 ? used & ((UINT64_C(1) << elements) - 1) : used;
}

/* What @insn touches of its operand: how many parts, -1 if it must step. */
static int parts_of(const struct native *native, const struct insn *insn,
		    const struct cpu *cpu, struct part *parts)
{
	uint64_t lanes;

	if (insn->lane == LANE_UNKNOWN ||
	    (insn->lane != LANE_SIGN && !insn->mask)) {
		parts[0] = (struct part){ 0, insn->size };
		return 1;
	}
	if (xstate_lanes(native_xstate(native), insn, cpu, &lanes) != 0)
		return -1;
	if (insn->lane != LANE_PACKED)
		return split(fold(lanes, insn->size / insn->element),
			     insn->element, parts);
	parts[0].offset = 0;
	parts[0].size = __builtin_popcountll(lanes) * insn->element;
	return parts[0].size ? 1 : 0;
}

static int read_parts(const struct memory *memory, uint64_t addr,
		      uint8_t *operand, uint8_t op, const struct part *parts,
		      int n, struct effect *effects)
{
	for (int i = 0; i < n; i++) {
		uint8_t *at = operand + parts[i].offset;
		int r = memory_read(memory, addr + parts[i].offset, at,
				    parts[i].size);

		if (r < 0)
			return r;
		effect_set(&effects[i], addr + parts[i].offset, parts[i].size,
			   op, at, at);
	}
	return 0;
}

/* Put the first @n parts back as they were. */
static int unwrite_parts(const struct memory *memory, uint64_t addr,
			 const struct part *parts, int n,
			 const struct effect *effects)
{
	int r = 0;

	for (int i = 0; i < n; i++)
		r = first_error(r, memory_write(memory, addr + parts[i].offset,
						effects[i].old, parts[i].size));
	return r;
}

/*
 * All or nothing.  Only an operand of lanes has several parts, and it is no
 * longer than what an effect shows.
 */
static int write_parts(const struct memory *memory, uint64_t addr,
		       const uint8_t *operand, const struct part *parts, int n,
		       struct effect *effects)
{
	for (int i = 0; i < n; i++) {
		const uint8_t *at = operand + parts[i].offset;
		int r = memory_write(memory, addr + parts[i].offset, at,
				     parts[i].size);

		if (r < 0)
			return first_error(
				unwrite_parts(memory, addr, parts, i, effects),
				r);
		memcpy(effects[i].new, at, effects[i].shown);
	}
	return 0;
}

/*
 * A store that also changes vector state (fstp) has changed it before we know
 * that memory took the result.
 */
static int run_store(struct execute *execute, const struct insn *insn,
		     struct cpu *cpu, const struct memory *memory,
		     uint64_t addr, const struct part *parts, int n,
		     struct effect *effects)
{
	struct user_regs_struct regs = cpu->regs;
	size_t saved =
		insn->vector_out ? min_u64(cpu->xstate_size, XSTATE_MAX) : 0;
	int r;

	if (saved)
		memcpy(execute->backup, cpu->xstate, saved);
	r = native_run(execute->native, insn, addr, cpu);
	if (r != EXECUTE_DONE)
		return r;
	r = write_parts(memory, addr, native_scratch(execute->native, addr),
			parts, n, effects);
	if (r == 0)
		return EXECUTE_DONE;
	cpu->regs = regs;
	if (saved)
		memcpy(cpu->xstate, execute->backup, saved);
	return r;
}

static int run_native(struct execute *execute, const struct insn *insn,
		      struct cpu *cpu, const struct memory *memory,
		      struct effect *effects, unsigned *count)
{
	uint64_t addr = access_address(insn, &cpu->regs);
	struct part parts[ACCESS_MAX];
	int n, r;

	if (!insn->size)
		return EXECUTE_STEP;
	n = parts_of(execute->native, insn, cpu, parts);
	/* A maskmov touches its whole page, whatever the mask. */
	if (n < 0 ||
	    (insn->implied &&
	     (n == 0 || page_down(addr + insn->size - 1) != page_down(addr))))
		return EXECUTE_STEP;
	r = read_parts(memory, addr, native_scratch(execute->native, addr),
		       insn->op, parts, n, effects);
	if (r < 0)
		return r;
	if (insn->op & ACCESS_WRITE)
		r = run_store(execute, insn, cpu, memory, addr, parts, n,
			      effects);
	else
		r = native_run(execute->native, insn, addr, cpu);
	if (r != EXECUTE_DONE)
		return r;
	perform_advance(insn, cpu);
	*count = n;
	return EXECUTE_DONE;
}

int execute_run(struct execute *execute, const struct insn *insn,
		struct cpu *cpu, const struct memory *memory,
		struct effect effects[ACCESS_MAX], unsigned *count)
{
	*count = 0;
	/* It would trap after the instruction, or for a misaligned operand. */
	if (cpu->regs.eflags & (FLAG_TF | FLAG_AC))
		return EXECUTE_STEP;
	switch (insn->kind) {
	case INSN_NATIVE:
		return run_native(execute, insn, cpu, memory, effects, count);
	case INSN_STRING:
		return perform_string(&execute->buffer, insn, cpu, memory,
				      effects, count);
	case INSN_STACK:
		return perform_stack(insn, cpu, memory, effects, count);
	case INSN_GATHER:
		return perform_gather(native_xstate(execute->native), insn, cpu,
				      memory, effects, count);
	case INSN_NONE:
	case INSN_STEP:
	default:
		return EXECUTE_STEP;
	}
}
