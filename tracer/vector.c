/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/xstate.h"
#include "tracer/process/landing.h"
#include "tracer/vector.h"

enum {
	AVX = 2,
	OPMASK = 5,
	ZMM_HI256 = 6,
	HI16_ZMM = 7,
	LEGACY = 512, /* bytes: x87, MXCSR, XMM */
	XMM = 160,
};

int vector_load(struct session *session, struct thread *thread, struct cpu *cpu)
{
	int r;

	cpu->xstate = session->xstate;
	cpu->xstate_size = XSTATE_MAX;
	r = trace_get_xstate(thread->tid, cpu->xstate, &cpu->xstate_size);
	if (r == 0)
		memcpy(session->xstate_before, cpu->xstate, cpu->xstate_size);
	return r;
}

/* What differs in a component, in units of @unit bytes: one bit each. */
static uint32_t changed(const struct session *session, const struct cpu *cpu,
			unsigned component, unsigned unit)
{
	unsigned size = xstate_machine()->component[component].size;
	unsigned at = xstate_machine()->component[component].offset;
	uint32_t units = 0;

	if (!memcmp(session->xstate_before + at, cpu->xstate + at, size))
		return 0;
	for (unsigned i = 0; i < size / unit; i++)
		if (memcmp(session->xstate_before + at + i * unit,
			   cpu->xstate + at + i * unit, unit))
			units |= 1u << i;
	return units;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* vmovdqu ymm, [rip]; vmovdqu64 for those that only EVEX reaches. */
static bool load_vector(const struct cpu *cpu, uint32_t which,
			struct landing_load *ret)
{
	unsigned n = (unsigned)__builtin_ctz(which);
	uint8_t value[XSTATE_VECTOR], modrm = 5 | (n & 7) << 3;
	uint8_t vex[] = { 0xc5, n & 8 ? 0x7e : 0xfe, 0x6f, modrm };
	uint8_t evex[] = { 0x62, n & 8 ? 0x61 : 0xe1, 0xfe, 0x28, 0x6f, modrm };

	xstate_get_vector(xstate_machine(), cpu, n, value);
	/* A load of 32 bytes clears the others. */
	if (!is_zero(value + LANDING_VALUE, XSTATE_VECTOR - LANDING_VALUE))
		return false;
	memcpy(ret->value, value, LANDING_VALUE);
	memcpy(ret->code, n < 16 ? vex : evex, n < 16 ? 4 : 6);
	ret->code_size = n < 16 ? 8 : 10;
	return true;
}

/* kmovq k, [rip] */
static bool load_mask(const struct cpu *cpu, uint32_t which,
		      struct landing_load *ret)
{
	unsigned n = (unsigned)__builtin_ctz(which);
	uint8_t code[] = { 0xc4, 0xe1, 0xf8, 0x90, 5 | n << 3 };
	uint64_t mask = xstate_get_mask(xstate_machine(), cpu, n);

	/* Without AVX512BW there is only kmovw. */
	if (!__builtin_cpu_supports("avx512bw"))
		return false;
	memcpy(ret->value, &mask, sizeof(mask));
	memcpy(ret->code, code, sizeof(code));
	ret->code_size = 9;
	return true;
}

/* The single register beyond SSE that changed, if one load can do it. */
static bool find_load(uint32_t vectors, uint32_t masks, const struct cpu *cpu,
		      struct landing_load *ret)
{
	*ret = (struct landing_load){ 0 };
	if (__builtin_popcount(vectors) + __builtin_popcount(masks) != 1)
		return false;
	return vectors ? load_vector(cpu, vectors, ret)
		       : load_mask(cpu, masks, ret);
}

/* The legacy region, but for what a load of @vectors brings with it. */
static bool legacy_changed(const struct session *session, const struct cpu *cpu,
			   uint32_t vectors)
{
	uint8_t before[LEGACY];

	memcpy(before, session->xstate_before, LEGACY);
	for (unsigned n = 0; n < 16; n++)
		if (vectors >> n & 1)
			memcpy(before + XMM + 16 * n,
			       cpu->xstate + XMM + 16 * n, 16);
	return memcmp(before, cpu->xstate, LEGACY);
}

int vector_store(struct session *session, struct thread *thread,
		 const struct cpu *cpu, uint64_t *ip)
{
	uint32_t masks = changed(session, cpu, OPMASK, 8);
	uint32_t vectors = changed(session, cpu, AVX, 16) |
			   changed(session, cpu, ZMM_HI256, 32) |
			   changed(session, cpu, HI16_ZMM, 64) << 16;
	struct landing_load load;
	int r = 0;

	if (!vectors && !masks)
		return legacy_changed(session, cpu, 0)
			       ? trace_set_fpregs(thread->tid, cpu->xstate)
			       : 0;
	if (!find_load(vectors, masks, cpu, &load))
		return trace_set_xstate(thread->tid, cpu->xstate,
					cpu->xstate_size);
	if (legacy_changed(session, cpu, vectors))
		r = trace_set_fpregs(thread->tid, cpu->xstate);
	if (r < 0)
		return r;
	r = landing_begin(thread, &load, *ip, cpu->xstate, cpu->xstate_size,
			  ip);
	return r == 0 ? 0
		      : trace_set_xstate(thread->tid, cpu->xstate,
					 cpu->xstate_size);
}
