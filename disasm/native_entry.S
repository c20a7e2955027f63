/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/native_entry.h"

/*
 * rsp is never given away, so a signal that arrives meanwhile finds a stack,
 * and the way out is found on it:
 *
 *	 0(%rsp)  the code
 *	 8(%rsp)  leave
 *	16(%rsp)  struct context
 */
	.text
	.globl	native_enter
	.hidden	native_enter
	.type	native_enter, @function
native_enter:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, CONTEXT_STACK(%rdi)
	push	%rdi
	lea	leave(%rip), %rax
	push	%rax
	push	%rsi
	testb	$VECTOR_LOAD, CONTEXT_VECTOR(%rdi)
	jz	1f
	stmxcsr	CONTEXT_MXCSR(%rdi)
	fnstcw	CONTEXT_CONTROL(%rdi)
	mov	CONTEXT_XSTATE(%rdi), %rcx
	mov	CONTEXT_COMPONENTS(%rdi), %eax
	xor	%edx, %edx
	.globl	native_load
	.hidden	native_load
native_load:
	xrstor64 (%rcx)
	.globl	native_loaded
	.hidden	native_loaded
native_loaded:
1:	push	CONTEXT_FLAGS(%rdi)
	popfq
	mov	(%rdi), %rax
	mov	8(%rdi), %rcx
	mov	16(%rdi), %rdx
	mov	24(%rdi), %rbx
	mov	40(%rdi), %rbp
	mov	48(%rdi), %rsi
	mov	64(%rdi), %r8
	mov	72(%rdi), %r9
	mov	80(%rdi), %r10
	mov	88(%rdi), %r11
	mov	96(%rdi), %r12
	mov	104(%rdi), %r13
	mov	112(%rdi), %r14
	mov	120(%rdi), %r15
	mov	56(%rdi), %rdi
	jmp	*(%rsp)

leave:
	push	%rdi
	mov	24(%rsp), %rdi
	pop	56(%rdi)
	pushfq
	pop	CONTEXT_FLAGS(%rdi)
	cld
	mov	%rax, (%rdi)
	mov	%rcx, 8(%rdi)
	mov	%rdx, 16(%rdi)
	mov	%rbx, 24(%rdi)
	mov	%rbp, 40(%rdi)
	mov	%rsi, 48(%rdi)
	mov	%r8, 64(%rdi)
	mov	%r9, 72(%rdi)
	mov	%r10, 80(%rdi)
	mov	%r11, 88(%rdi)
	mov	%r12, 96(%rdi)
	mov	%r13, 104(%rdi)
	mov	%r14, 112(%rdi)
	mov	%r15, 120(%rdi)
	xor	%ebx, %ebx
	testb	$VECTOR_SAVE, CONTEXT_VECTOR(%rdi)
	jz	clean
	mov	CONTEXT_XSTATE(%rdi), %rcx
	mov	CONTEXT_COMPONENTS(%rdi), %eax
	xor	%edx, %edx
	xsave64	(%rcx)

clean:
	testb	$VECTOR_LOAD, CONTEXT_VECTOR(%rdi)
	jz	2f
	/* Drops pending exceptions and empties the x87 stack for the ABI. */
	fninit
	fldcw	CONTEXT_CONTROL(%rdi)
	ldmxcsr	CONTEXT_MXCSR(%rdi)
	testb	$VECTOR_AVX, CONTEXT_VECTOR(%rdi)
	jz	2f
	vzeroupper
2:	mov	%ebx, %eax
	mov	CONTEXT_STACK(%rdi), %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	native_enter, . - native_enter

	.globl	native_fault
	.hidden	native_fault
native_fault:
	cld
	mov	$1, %ebx
	jmp	clean

/* iret is serializing and needs no privilege to return to the same one. */
	.globl	native_serialize
	.hidden	native_serialize
	.type	native_serialize, @function
native_serialize:
	mov	%rsp, %rax
	mov	%ss, %ecx
	push	%rcx
	push	%rax
	pushfq
	mov	%cs, %ecx
	push	%rcx
	lea	3f(%rip), %rcx
	push	%rcx
	iretq
3:	ret
	.size	native_serialize, . - native_serialize

	.section .note.GNU-stack, "", @progbits
