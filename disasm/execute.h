/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * execute - perform one instruction on behalf of a stopped thread
 *
 * The processor is the emulator: the instruction is copied into a page of
 * ours with its memory operand re-encoded relative to rip, run with the
 * thread's registers, and its result is written back through a callback.
 * String and stack instructions are done in C.  Only forms on an allow list
 * run: no control flow, no system call, no privileged effect.  The code page
 * is two mappings of one memfd, one writable and one executable.
 *
 * Nothing here knows ptrace: registers and memory in, registers and memory
 * out.  Not thread-safe; one struct execute a process of ours (-EBUSY): it
 * installs handlers for SIGSEGV SIGBUS SIGFPE SIGILL SIGTRAP; faults outside
 * its own code go to the handlers that were there before.  The thread's rsp is
 * never loaded, so a handler of any signal finds our own stack.
 */

#include <sys/user.h>

#include "base/memory.h"
#include "disasm/access.h"
#include "disasm/insn.h"

enum { EFFECT_SHOWN = 64, XSTATE_MAX = 16384 };

/* What one memory operand did. */
struct effect {
	struct access access; /* where, how, how often: really touched */
	uint32_t shown;	      /* bytes that old and new hold */
	uint8_t old[EFFECT_SHOWN];
	uint8_t new[EFFECT_SHOWN]; /* equal to old for a read */
};

struct cpu {
	struct user_regs_struct regs;
	uint8_t *xstate;    /* NT_X86_XSTATE layout, 64-aligned; if asked for */
	size_t xstate_size; /* 0: not loaded */
};

enum execute_result {
	EXECUTE_DONE = 0, /* performed; registers advanced */
	EXECUTE_STEP = 1, /* cannot be performed here: step it */
};

struct execute;

int execute_new(struct execute **ret) _must_check_;
void execute_free(struct execute *execute);
DEFINE_CLEANUP(execute)

/* What runs the code, for ahead; stays @execute's. */
struct native *execute_native(struct execute *execute);

/*
 * Perform @insn, which stands at cpu->regs.rip.  insn->vector_in tells that
 * cpu->xstate must be loaded, insn->vector_out that it was changed.
 *
 * EXECUTE_DONE: registers, xstate and memory are as the processor would have
 * left them and effects[0..*count) tell what was touched.  A long rep run may
 * be done in parts: then rip still stands on it and rcx, rsi, rdi have moved.
 * EXECUTE_STEP: it raised an exception or is of a kind we do not perform;
 * nothing was changed.  < 0: -errno from @memory; nothing was changed.
 */
int execute_run(struct execute *execute, const struct insn *insn,
		struct cpu *cpu, const struct memory *memory,
		struct effect effects[ACCESS_MAX],
		unsigned *count) _must_check_;
