/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * allowed - what may run in our own process, said by another disassembler
 */

#include "disasm/insn.h"

/*
 * Crash unless what would run for @insn is a single instruction that goes on
 * to the next, touches nothing but the copy of its operand, and neither the
 * stack nor the system.
 */
#ifdef HAVE_ZYDIS
void check_allowed(const struct insn *insn);
#else
static inline void check_allowed(const struct insn *insn)
{
}
#endif
