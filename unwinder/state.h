/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * state - what one frame hands to its caller's
 *
 * A step to the caller is a function of this, of the stack, and of unwind
 * tables that do not change: the same state over the same bytes gives the
 * same callers.
 */

#include "base/macro.h"

enum state_register {
	STATE_RBX,
	STATE_RBP,
	STATE_R12,
	STATE_R13,
	STATE_R14,
	STATE_R15,
	STATE_SAVED, /* so many are callee-saved by the System V ABI */
	STATE_SP = STATE_SAVED,
	STATE_REGISTERS,
};

struct state {
	uint64_t reg[STATE_REGISTERS];
	uint64_t ip;
	bool is_return; /* ip is a return address: looked up at ip - 1 */
};
