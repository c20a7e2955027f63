/* SPDX-License-Identifier: Apache-2.0 */
/* watch: place */
/*
 * Stores to "place" that are run ahead with one instruction and stack pointer,
 * and not one call stack: by turns two callers, and a frame that is found by a
 * register, which changes.
 */
#include <stdio.h>

enum { ROUNDS = 200 };

volatile long place;
static volatile long other;

static __attribute__((noinline)) void touch(void)
{
	__asm__ volatile("incq %0" : "+m"(place));
}

static __attribute__((noinline)) void one(void)
{
	touch();
	other += 1;
}

static __attribute__((noinline)) void two(void)
{
	touch();
	other += 2;
}

/* The last two stores: what is found by rbx then is no frame. */
void found_by_rbx(void);
__asm__(".text\n"
	".type found_by_rbx, @function\n"
	"found_by_rbx:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbx, 0\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register rbx\n"
	"	mov $4, %ecx\n"
	"1:	incq place(%rip)\n"
	"	xor %eax, %eax\n"
	"	cmp $3, %ecx\n"
	"	sete %al\n"
	"	lea (%rbx, %rax, 8), %rbx\n"
	"	dec %ecx\n"
	"	jnz 1b\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size found_by_rbx, . - found_by_rbx\n");

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		one();
		two();
		one();
		two();
		found_by_rbx();
	}
	printf("%ld %ld\n", place, other);
	return 0;
}
