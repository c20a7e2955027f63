/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * xstate - where this machine keeps vector state in NT_X86_XSTATE
 *
 * Makers place the components differently (AMD has no room for MPX).
 * Source: Intel SDM volume 1, chapter 13.
 */

#include "disasm/execute.h"

/* Legacy forms leave the components beyond x87 and SSE alone. */
enum { XSTATE_LEGACY = 3, XSTATE_VECTOR = 64, XSTATE_COMPONENTS = 32 };

struct xstate {
	uint64_t components; /* those we load; 0: no XSAVE here */
	size_t size;	     /* bytes that they need */
	uint64_t enabled;    /* XCR0: those that the system lets us use */
	struct {
		uint32_t offset, size; /* in bytes, 0 if there is none */
		bool aligned;	       /* to 64 in the compacted format */
	} component[XSTATE_COMPONENTS];
};

void xstate_measure(struct xstate *xstate);

/* This machine's, measured once. */
const struct xstate *xstate_machine(void);

/* True if @cpu brings all that we would load. */
bool xstate_loaded(const struct xstate *xstate, const struct cpu *cpu);

/*
 * One bit for each lane of the operand that the mask of @insn lets through.
 * 0, or EXECUTE_STEP where what tells it is not in @cpu.
 */
int xstate_lanes(const struct xstate *xstate, const struct insn *insn,
		 const struct cpu *cpu, uint64_t *ret);

/* Vector register @number (0..31), all 64 bytes; what is not here is zero. */
void xstate_get_vector(const struct xstate *xstate, const struct cpu *cpu,
		       unsigned number, uint8_t ret[XSTATE_VECTOR]);
void xstate_set_vector(const struct xstate *xstate, struct cpu *cpu,
		       unsigned number, const uint8_t value[XSTATE_VECTOR]);

/* Mask register @number (k0..k7). */
uint64_t xstate_get_mask(const struct xstate *xstate, const struct cpu *cpu,
			 unsigned number);
void xstate_set_mask(const struct xstate *xstate, struct cpu *cpu,
		     unsigned number, uint64_t value);
