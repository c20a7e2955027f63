/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * locals - the variables of a function that lie in its stack frame
 *
 * As DWARF tells of one instruction: those that are in scope there, and are in
 * memory.  Places are told from the canonical frame address (CFA, what the
 * stack pointer was before the call), which is what an unwinder knows of every
 * frame; variables that are told from a register are found where the unwind
 * tables tell the CFA from that register.
 */

#include "tracer/process/types.h"

struct local {
	const char *name;
	struct type *type;
	int64_t offset; /* from the CFA */
};

/*
 * The variable that has the byte @offset from the CFA of the frame that stands
 * at @addr, an address of the file; of several the innermost.  What it gives
 * lives as long as @types.
 */
bool locals_at(struct types *types, uint64_t addr, int64_t offset,
	       struct local *ret);
