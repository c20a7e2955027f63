/* SPDX-License-Identifier: Apache-2.0 */
/* watch: watched */
/*
 * Flags pushed on a watched stack while alignment is checked, for which the
 * instruction is stepped: the flag that steps is not among them.
 */
#include "tests/targets/target.h"

static struct {
	long stack[64];
} watched __attribute__((aligned(64)));

static unsigned long pushed(void)
{
	unsigned long flags;

	__asm__ volatile("mov	%%rsp, %%r12\n\t"
			 "mov	%1, %%rsp\n\t"
			 "push	$0x40002\n\t" /* AC */
			 "popfq\n\t"
			 "pushfq\n\t"
			 "pop	%0\n\t"
			 "push	$2\n\t"
			 "popfq\n\t"
			 "mov	%%r12, %%rsp\n\t"
			 : "=&r"(flags)
			 : "r"(watched.stack + 32)
			 : "r12", "memory", "cc");
	return flags;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 100; i++)
		printf("%lx\n", pushed() & 0x40100);
	return 0;
}
