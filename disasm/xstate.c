/* SPDX-License-Identifier: Apache-2.0 */
#include <cpuid.h>
#include <string.h>

#include "disasm/xstate.h"

enum {
	/*
	 * x87, SSE, AVX, opmask, ZMM_Hi256, Hi16_ZMM; not PKRU, which would
	 * be about our own memory.
	 */
	COMPONENTS = 0xe7,
	SSE = 1,
	AVX = 2,
	OPMASK = 5,
	HEADER = 512,
	XMM = 160,
};

/* What XSAVE covers here; without it only integer forms are run. */
void xstate_measure(struct xstate *xstate)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	xstate->components = a & COMPONENTS;
	xstate->size = HEADER + 64;
	for (unsigned i = AVX; i < 8; i++) {
		if (!(xstate->components >> i & 1) ||
		    !__get_cpuid_count(0xd, i, &a, &b, &c, &d))
			continue;
		xstate->size = max_u64(xstate->size, (uint64_t)a + b);
		if (i == AVX)
			xstate->avx = b;
		else if (i == OPMASK)
			xstate->opmask = b;
	}
}

bool xstate_loaded(const struct xstate *xstate, const struct cpu *cpu)
{
	return xstate->components && cpu->xstate_size >= xstate->size;
}

/* Component @number of @cpu's xstate is not in its initial state (zero). */
static bool in_use(const struct cpu *cpu, unsigned number)
{
	uint64_t map;

	memcpy(&map, cpu->xstate + HEADER, sizeof(map));
	return map >> number & 1;
}

/* The sign bits of vvvv's elements, as vmaskmov looks at them. */
static uint64_t signs(const struct xstate *xstate, const struct insn *insn,
		      const struct cpu *cpu)
{
	uint8_t value[32] = { 0 };
	uint64_t lanes = 0;

	if (in_use(cpu, SSE))
		memcpy(value, cpu->xstate + XMM + 16 * (insn->vvvv & 15), 16);
	if (in_use(cpu, AVX))
		memcpy(value + 16,
		       cpu->xstate + xstate->avx + 16 * (insn->vvvv & 15), 16);
	for (unsigned i = 0; i < insn->vector / insn->element; i++)
		if (value[(i + 1) * insn->element - 1] & 0x80)
			lanes |= UINT64_C(1) << i;
	return lanes;
}

int xstate_lanes(const struct xstate *xstate, const struct insn *insn,
		 const struct cpu *cpu, uint64_t *ret)
{
	unsigned lanes = insn->size / insn->element;
	uint64_t mask = 0;

	if (!xstate_loaded(xstate, cpu))
		return EXECUTE_STEP;
	if (insn->lane == LANE_SIGN) {
		if (!xstate->avx)
			return EXECUTE_STEP;
		*ret = signs(xstate, insn, cpu);
		return 0;
	}
	if (!xstate->opmask)
		return EXECUTE_STEP;
	if (in_use(cpu, OPMASK))
		memcpy(&mask, cpu->xstate + xstate->opmask + 8 * insn->mask, 8);
	*ret = lanes < 64 ? mask & ((UINT64_C(1) << lanes) - 1) : mask;
	return 0;
}
