/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * text - Intel syntax of forms that Capstone 4 does not know
 *
 * Mask moves, gathers, and what the C library's AVX-512 code uses; by no
 * means all.
 */

#include "disasm/insn.h"

/* False if @insn is none of them. */
bool text_of(const struct insn *insn, uint64_t ip, char text[INSN_TEXT]);
