/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * perform - the instructions that are done in C
 *
 * As execute_run, each for one kind.
 */

#include "disasm/execute.h"

enum {
	RUN_MAX = 1 << 17,   /* bytes of a run that are handled in one go: they
				stay in the processor's cache */
	RUN_WHOLE = 1 << 23, /* in all: a signal waits a millisecond or two */
};

struct xstate;

struct run_buffer {
	uint8_t bytes[2 * RUN_MAX]; /* both sides, or their union */
};

int perform_string(struct run_buffer *buffer, const struct insn *insn,
		   struct cpu *cpu, const struct memory *memory,
		   struct effect *effects, unsigned *count) _must_check_;

int perform_stack(const struct insn *insn, struct cpu *cpu,
		  const struct memory *memory, struct effect *effects,
		  unsigned *count) _must_check_;

int perform_gather(const struct xstate *xstate, const struct insn *insn,
		   struct cpu *cpu, const struct memory *memory,
		   struct effect *effects, unsigned *count) _must_check_;

/* What every performed instruction does to rip and eflags. */
void perform_advance(const struct insn *insn, struct cpu *cpu);

/* An effect that touched @size bytes, of which @old and @new are the first. */
void effect_set(struct effect *effect, uint64_t addr, uint64_t size, uint8_t op,
		const void *old, const void *new);
