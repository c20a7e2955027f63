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
	X87 = 0,
	SSE = 1,
	AVX = 2,
	OPMASK = 5,
	ZMM_HI256 = 6,
	HI16_ZMM = 7,
	HEADER = 512,
	STATUS = 2,
	ST = 32,
	XMM = 160,
};

/* What XSAVE covers here; without it only integer forms are run. */
void xstate_measure(struct xstate *xstate)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	xstate->enabled = a;
	xstate->components = a & COMPONENTS;
	xstate->size = HEADER + 64;
	xstate->component[SSE].offset = XMM;
	xstate->component[SSE].size = 256;
	for (unsigned i = AVX; i < XSTATE_COMPONENTS; i++) {
		if (!(xstate->enabled >> i & 1) ||
		    !__get_cpuid_count(0xd, i, &a, &b, &c, &d))
			continue;
		xstate->component[i].offset = b;
		xstate->component[i].size = a;
		xstate->component[i].aligned = c & 2;
		if (xstate->components >> i & 1)
			xstate->size = max_u64(xstate->size, (uint64_t)a + b);
	}
}

const struct xstate *xstate_machine(void)
{
	static struct xstate machine;

	if (!machine.size)
		xstate_measure(&machine);
	return &machine;
}

bool xstate_loaded(const struct xstate *xstate, const struct cpu *cpu)
{
	return xstate->components && cpu->xstate_size >= xstate->size;
}

/* Bytes of a component; none while it is in its initial state (zero). */
static void get(const struct xstate *xstate, const struct cpu *cpu,
		unsigned component, unsigned at, void *ret, size_t size)
{
	uint64_t map;

	memset(ret, 0, size);
	memcpy(&map, cpu->xstate + HEADER, sizeof(map));
	if (map >> component & 1 && xstate->component[component].size)
		memcpy(ret,
		       cpu->xstate + xstate->component[component].offset + at,
		       size);
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

static void set(const struct xstate *xstate, struct cpu *cpu,
		unsigned component, unsigned at, const void *value, size_t size)
{
	uint8_t *area = cpu->xstate + xstate->component[component].offset;
	uint64_t map;

	if (!xstate->component[component].size)
		return;
	memcpy(&map, cpu->xstate + HEADER, sizeof(map));
	if (!(map >> component & 1)) {
		if (is_zero(value, size))
			return;
		memset(area, 0, xstate->component[component].size);
		map |= UINT64_C(1) << component;
		memcpy(cpu->xstate + HEADER, &map, sizeof(map));
	}
	memcpy(area + at, value, size);
}

void xstate_get_vector(const struct xstate *xstate, const struct cpu *cpu,
		       unsigned number, uint8_t ret[XSTATE_VECTOR])
{
	if (number >= 16) {
		get(xstate, cpu, HI16_ZMM, 64 * (number - 16), ret, 64);
		return;
	}
	get(xstate, cpu, SSE, 16 * number, ret, 16);
	get(xstate, cpu, AVX, 16 * number, ret + 16, 16);
	get(xstate, cpu, ZMM_HI256, 32 * number, ret + 32, 32);
}

void xstate_set_vector(const struct xstate *xstate, struct cpu *cpu,
		       unsigned number, const uint8_t value[XSTATE_VECTOR])
{
	if (number >= 16) {
		set(xstate, cpu, HI16_ZMM, 64 * (number - 16), value, 64);
		return;
	}
	set(xstate, cpu, SSE, 16 * number, value, 16);
	set(xstate, cpu, AVX, 16 * number, value + 16, 16);
	set(xstate, cpu, ZMM_HI256, 32 * number, value + 32, 32);
}

uint64_t xstate_get_mask(const struct xstate *xstate, const struct cpu *cpu,
			 unsigned number)
{
	uint64_t mask;

	get(xstate, cpu, OPMASK, 8 * number, &mask, sizeof(mask));
	return mask;
}

void xstate_set_mask(const struct xstate *xstate, struct cpu *cpu,
		     unsigned number, uint64_t value)
{
	set(xstate, cpu, OPMASK, 8 * number, &value, sizeof(value));
}

/* mm0..mm7 do not turn with the x87 stack, but their places here do. */
static const uint8_t *mmx(const struct cpu *cpu, unsigned number)
{
	unsigned top = cpu->xstate[STATUS + 1] >> 3 & 7;

	return cpu->xstate + ST + 16 * ((number - top) & 7);
}

/*
 * The sign bits of the elements that vmaskmov, maskmov and gathers look at:
 * those of vvvv, or of rm.
 */
static uint64_t signs(const struct xstate *xstate, const struct insn *insn,
		      const struct cpu *cpu)
{
	uint8_t value[XSTATE_VECTOR] = { 0 };
	uint64_t lanes = 0;

	if (!insn->implied)
		xstate_get_vector(xstate, cpu, insn->vvvv & 15, value);
	else if (insn->size == 16)
		xstate_get_vector(xstate, cpu, insn->rm, value);
	else
		memcpy(value, mmx(cpu, insn->rm), 8);
	for (unsigned i = 0; i < insn->lanes; i++)
		if (value[(i + 1) * insn->element - 1] & 0x80)
			lanes |= UINT64_C(1) << i;
	return lanes;
}

int xstate_lanes(const struct xstate *xstate, const struct insn *insn,
		 const struct cpu *cpu, uint64_t *ret)
{
	uint64_t mask;

	if (!xstate_loaded(xstate, cpu))
		return EXECUTE_STEP;
	if (insn->lane == LANE_SIGN) {
		*ret = signs(xstate, insn, cpu);
		return 0;
	}
	if (!xstate->component[OPMASK].size)
		return EXECUTE_STEP;
	mask = xstate_get_mask(xstate, cpu, insn->mask);
	*ret = insn->lanes < 64 ? mask & ((UINT64_C(1) << insn->lanes) - 1)
				: mask;
	return 0;
}
