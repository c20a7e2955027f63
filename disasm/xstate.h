/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * xstate - where this machine keeps vector state in NT_X86_XSTATE
 *
 * Makers place the components differently (AMD has no room for MPX).
 */

#include "disasm/execute.h"

/* Legacy forms leave the components beyond x87 and SSE alone. */
enum { XSTATE_LEGACY = 3 };

struct xstate {
	uint64_t components;  /* those we load; 0: no XSAVE here */
	size_t size;	      /* bytes that they need */
	unsigned avx, opmask; /* where they are, 0 if there are none */
};

void xstate_measure(struct xstate *xstate);

/* True if @cpu brings all that we would load. */
bool xstate_loaded(const struct xstate *xstate, const struct cpu *cpu);

/*
 * One bit for each lane of the operand that the mask of @insn lets through.
 * 0, or EXECUTE_STEP where what tells it is not in @cpu.
 */
int xstate_lanes(const struct xstate *xstate, const struct insn *insn,
		 const struct cpu *cpu, uint64_t *ret);
