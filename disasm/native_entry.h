/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * native_entry - the way into foreign code and out of it
 *
 * Read by C and by the assembler.
 */

#define CONTEXT_FLAGS	   128
#define CONTEXT_XSTATE	   136
#define CONTEXT_COMPONENTS 144
#define CONTEXT_STACK	   152
#define CONTEXT_MXCSR	   160
#define CONTEXT_CONTROL	   164
#define CONTEXT_VECTOR	   168

/* Bits of context.vector. */
#define VECTOR_LOAD 1 /* load xstate before, clean up after */
#define VECTOR_SAVE 2 /* save it after */
#define VECTOR_AVX  4 /* the machine has vzeroupper */

#ifndef __ASSEMBLER__

#include "base/macro.h"

struct context {
	uint64_t registers[16]; /* [4] is not used: rsp stays ours */
	uint64_t flags;
	uint8_t *xstate;
	uint64_t components; /* of xstate, to load and save */
	uint64_t stack;	     /* ours */
	uint32_t mxcsr;	     /* ours */
	uint32_t control;    /* our x87 control word */
	uint64_t vector;
};

/*
 * Load @context, jump to @code, and store back what it left.  The code ends
 * with native_leave_code.  0, or 1 if it was left through native_fault.
 */
int native_enter(struct context *context, const void *code);

/* All that may fault on behalf of foreign state: xrstor. */
extern const char native_load[], native_loaded[];

/* Where a handler sends the thread, with rdi = context, to leave. */
extern const char native_fault[];

/* Throw away what the processor has already fetched of rewritten code. */
void native_serialize(void);

/* jmp *8(%rsp): to the exit, which native_enter left there. */
#define NATIVE_LEAVE_CODE                                                      \
	{                                                                      \
		0xff, 0x64, 0x24, 0x08                                         \
	}

#endif
