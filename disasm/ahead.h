/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ahead - go on with a stopped thread's next instructions, without the thread
 *
 * After one access was performed, a loop over the same memory need not stop
 * again for each: its instructions are run here, as long as they touch only
 * registers and memory that the caller's windows give.  Runs of instructions
 * of registers only are joined and run by the processor (native.h), from an
 * allow list; jumps are done in C; what touches memory goes through
 * execute_run().  Anything else ends the run in front of it.
 *
 * Registers and memory in, registers and memory out: knows nothing of tracing.
 */

#include "disasm/execute.h"
#include "disasm/window.h"

enum ahead_answer {
	AHEAD_ON = 0,
	AHEAD_STOP = 1, /* the run ends after this instruction */
};

/* An instruction that touched memory with WINDOW_WATCHED. */
struct ahead_access {
	const struct insn *insn;
	const struct user_regs_struct *regs; /* before; rip its own address */
	const struct effect *effects;
	unsigned count;
};

struct ahead_host {
	void *context;
	struct windows *windows;

	/*
	 * Up to @size bytes of code at @ip, which nobody may change until
	 * ahead_forget(). How many; 0: there is none, or it may change.
	 */
	size_t (*code)(void *context, uint64_t ip, uint8_t *bytes, size_t size);

	enum ahead_answer (*access)(void *context,
				    const struct ahead_access *access);

	/* Fill cpu->xstate; it is asked for once. 0 or -errno. */
	int (*vector)(void *context, struct cpu *cpu);
};

struct ahead_result {
	uint64_t insns;	   /* run, of all kinds */
	uint64_t accesses; /* instructions that host->access() was told */
	bool vector;	   /* cpu->xstate was changed */
};

struct ahead;

int ahead_new(struct execute *execute, struct ahead **ret) _must_check_;
void ahead_free(struct ahead *ahead);
DEFINE_CLEANUP(ahead)

/* Code may have changed. */
void ahead_forget(struct ahead *ahead);

/*
 * Run at most @budget instructions (and what is joined with the last one)
 * from cpu->regs on.  Stops in front of whatever it may not do, and where
 * registers and memory are as they were before: a loop that only waits.
 */
void ahead_run(struct ahead *ahead, struct cpu *cpu,
	       const struct ahead_host *host, uint64_t budget,
	       struct ahead_result *ret);
