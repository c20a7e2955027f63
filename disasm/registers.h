/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * registers - the general registers by the numbers that instructions use
 *
 * 0..15 are rax rcx rdx rbx rsp rbp rsi rdi r8..r15.
 */

#include <sys/user.h>

#include "base/macro.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, REGISTERS = 16 };

/* Bits of eflags. */
enum {
	FLAG_CF = 1 << 0,
	FLAG_PF = 1 << 2,
	FLAG_AF = 1 << 4,
	FLAG_ZF = 1 << 6,
	FLAG_SF = 1 << 7,
	FLAG_TF = 1 << 8,
	FLAG_DF = 1 << 10,
	FLAG_OF = 1 << 11,
	FLAG_NT = 1 << 14,
	FLAG_RF = 1 << 16,
	FLAG_VM = 1 << 17,
	FLAG_AC = 1 << 18,
	FLAG_ID = 1 << 21,
	FLAGS_STATUS =
		FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF,
};

uint64_t register_get(const struct user_regs_struct *regs, unsigned number);
void register_set(struct user_regs_struct *regs, unsigned number,
		  uint64_t value);

/* The base of segment override @segment (64, 65 or 0). */
static inline uint64_t segment_base(const struct user_regs_struct *regs,
				    uint8_t segment)
{
	if (segment == 0x64)
		return regs->fs_base;
	return segment == 0x65 ? regs->gs_base : 0;
}
