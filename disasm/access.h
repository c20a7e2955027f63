/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * access - which memory an instruction touches, and how
 *
 * Decides direction and size from our own table (Capstone 4.0.2 calls 455 of
 * 3,894 stores reads, docs/kernel.md).  Says what an instruction would touch
 * before it runs; what it did touch is told by execute.h.
 */

#include <sys/user.h>

#include "base/macro.h"

struct insn;

enum {
	ACCESS_READ = 1,
	ACCESS_WRITE = 2,
	ACCESS_RW = ACCESS_READ | ACCESS_WRITE,
	/*
	 * Operands of one instruction, and parts of one: 64 lanes of which
	 * every other one is touched.
	 */
	ACCESS_MAX = 32,
};

struct access {
	uint64_t addr;
	uint64_t size;	/* bytes in all; a rep run: count * element */
	uint8_t op;	/* ACCESS_READ, ACCESS_WRITE or both */
	uint32_t count; /* elements of a rep run, else 1 */
};

/*
 * The operands of @insn with these registers, rip being its own address, in
 * the order in which the processor touches them.  Returns how many (0: no
 * data memory, or it cannot be told: INSN_STEP; INSN_GATHER).
 */
unsigned access_of(const struct insn *insn, const struct user_regs_struct *regs,
		   struct access ret[ACCESS_MAX]);

/* The address of the explicit memory operand (insn->memory must be set). */
uint64_t access_address(const struct insn *insn,
			const struct user_regs_struct *regs);

/*
 * Likely starts of the object that the explicit operand lies in: base,
 * index*scale, base+index*scale.  Returns how many of @ret are set (max 3).
 */
unsigned access_candidates(const struct insn *insn,
			   const struct user_regs_struct *regs,
			   uint64_t ret[3]);

/* Does @insn, with these registers, write to the byte at @addr? */
bool access_writes(const struct insn *insn, const struct user_regs_struct *regs,
		   uint64_t addr);

/* "read", "write" or "rw". */
const char *access_name(uint8_t op);
