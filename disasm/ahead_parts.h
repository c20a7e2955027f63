/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ahead_parts - what the files of ahead.h share
 *
 * Which instructions may be gone on with at all, and each kind's own way.
 */

#include "disasm/execute.h"
#include "disasm/native.h"

enum ahead_kind {
	AHEAD_HALT,	 /* the thread's own business */
	AHEAD_REGISTERS, /* run by the processor, on registers */
	AHEAD_BRANCH,	 /* in C: jumps, lea, what does nothing */
	AHEAD_MEMORY,	 /* by execute_run() */
};

/* An instruction of registers only, as it may be run; false: it may not. */
struct ahead_code {
	uint8_t bytes[INSN_BYTES];
	struct native_use use;
};

bool ahead_code(const struct insn *insn, struct ahead_code *ret);

/* True if ahead_branch() knows @insn. */
bool ahead_is_branch(const struct insn *insn);

/* Do @insn, which stands at regs->rip. 0, or EXECUTE_STEP. */
int ahead_branch(const struct insn *insn, struct user_regs_struct *regs);
