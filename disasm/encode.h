/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * encode - an instruction with its memory operand made relative to rip
 *
 * Everything else about it stays: operation, operands, immediate.  An operand
 * that rdi implies stays, too: then rdi has to be another.
 */

#include "disasm/insn.h"

struct encoding {
	uint8_t bytes[24];
	uint8_t length;
	uint8_t displacement; /* where its 4 bytes are to be put, 0: nowhere */
};

void encode(const struct insn *insn, struct encoding *ret);

/*
 * The register that plays rsp, 0 if @insn does not name it as a register:
 * rsp itself must go on pointing to our stack.
 */
unsigned encode_stand_in(const struct insn *insn);
