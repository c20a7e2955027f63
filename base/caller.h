/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * caller - the step to the caller from code that has no unwind tables
 *
 * Code that was made at run time has none, but whoever knows the runtime that
 * made it can tell how its frames look: what a line of a table would say.
 */

#include "base/macro.h"

/* Those that the System V ABI has a callee save. */
enum caller_register {
	CALLER_RBX,
	CALLER_RBP,
	CALLER_R12,
	CALLER_R13,
	CALLER_R14,
	CALLER_R15,
	CALLER_REGISTERS,
};

/* Offsets are bytes, multiples of 8. */
struct caller {
	bool by_rbp;	/* all is found from rbp, else from sp */
	bool is_loaded; /* a word there, at @sp, is the caller's sp */
	int32_t sp;	/* of the caller, after the return */
	int32_t ip;	/* where the return address is */
	uint8_t saved;	/* bit i: caller_register i is, at slot[i] */
	int32_t slot[CALLER_REGISTERS];
};

struct code {
	uint64_t start, end; /* of all such code; 0, 0: there is none */
	void *context;

	/*
	 * Of the frame at @ip; @is_return: it is the return address of a call.
	 * The answer is kept for as long as nobody says that the code changed.
	 * False: it is not known.
	 */
	bool (*caller)(void *context, uint64_t ip, bool is_return,
		       struct caller *ret);
};

static inline bool code_holds(const struct code *code, uint64_t ip)
{
	return ip - code->start < code->end - code->start;
}
