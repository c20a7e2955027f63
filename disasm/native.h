/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * native - code of somebody else, run on registers of somebody else
 *
 * Owns the code page, the entry and exit around it, and the signal handlers.
 * It runs what it is given: what may run is decided by the caller.
 */

#include "disasm/execute.h"

/* The largest operand (fxsave), after up to 63 bytes for its alignment. */
enum { NATIVE_SCRATCH = 1024 };

/* Places for code of registers only, and the bytes that fit in one. */
enum { NATIVE_BLOCKS = 16384, NATIVE_BLOCK = 60 };

struct native;
struct xstate;

int native_new(struct native **ret) _must_check_;
void native_free(struct native *native);
DEFINE_CLEANUP(native)

/* Where the operand lies whose address is @addr: the same, modulo 64. */
uint8_t *native_scratch(struct native *native, uint64_t addr);

/*
 * Run @insn with its operand at native_scratch(@addr), on the registers of
 * @cpu (rip is not moved).  EXECUTE_DONE, or EXECUTE_STEP if it raised an
 * exception: then @cpu is as it was.
 */
int native_run(struct native *native, const struct insn *insn, uint64_t addr,
	       struct cpu *cpu);

/* What a block needs besides the general registers and the flags. */
struct native_use {
	uint8_t stand_in; /* plays rsp; 0: the block does not name it */
	bool vector;	  /* loads and saves XSTATE */
	bool legacy;	  /* only its x87 and SSE components */
};

/* Put code that neither jumps nor touches memory into @place. */
void native_block(struct native *native, unsigned place, const uint8_t *code,
		  size_t size);

/* Run what was put into @place; as native_run(). */
int native_run_block(struct native *native, unsigned place,
		     const struct native_use *use, struct cpu *cpu);

/* What the machine's vector state looks like. */
const struct xstate *native_xstate(const struct native *native);
