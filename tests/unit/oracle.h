/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * oracle - what the processor itself does with an instruction
 *
 * A stopped child of the test; bytes, registers, vector state and a window of
 * memory are put into it and one instruction is stepped.
 */

#include "base/macro.h"
#include "disasm/execute.h"

/* Where the child has its code page and, alone in its area, the window. */
#define ORACLE_CODE   UINT64_C(0x10000000)
#define ORACLE_WINDOW UINT64_C(0x20000000)
#define ORACLE_SIZE   (3 * PAGE)

struct oracle {
	pid_t pid;
	int memory;
	struct user_regs_struct regs; /* to start from */
	uint8_t *xstate;
	size_t xstate_size;
	uint64_t fault; /* address that the last signal told, 0: none */
};

/* 0, or -errno: ptrace is not allowed here. */
int oracle_new(struct oracle *oracle);
void oracle_done(struct oracle *oracle);

/*
 * Step @insn with @cpu and @window until it is over (a rep run takes a step
 * an element).  0, or the signal it raised; both are left as they are then.
 */
int oracle_step(struct oracle *oracle, const struct insn *insn, struct cpu *cpu,
		uint8_t *window);

/* Give the window these rights (PROT_*).  0 or -errno. */
int oracle_protect(struct oracle *oracle, int prot);
