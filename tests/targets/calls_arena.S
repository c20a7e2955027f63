/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of calls.h: its watched parts are symbols. */

#define STEP (4 * 4096)

	.bss
	.balign 4096
	.globl calls_arena
	.type calls_arena, @object
calls_arena:
	.globl calls_all
	.type calls_all, @object
	.size calls_all, 32 * STEP
calls_all:
	.skip 32 * STEP
	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	.skip STEP
	.globl calls_\n
	.type calls_\n, @object
	.size calls_\n, STEP
calls_\n:
	.skip STEP
	.endr
	.skip 32 * STEP
	.size calls_arena, 96 * STEP
	.section .note.GNU-stack, "", @progbits
