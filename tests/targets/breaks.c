/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:bss */
/* options: --sample=500 */
/*
 * A program's own breakpoints, counted by its handler: often one is raised as
 * the tracer interrupts the thread to close pages.
 */
#include <signal.h>

#include "tests/targets/target.h"

enum { BREAKS = 50000 };

static volatile int numbers[1 << 14];
static volatile int seen;

static void count(int number)
{
	seen++;
	numbers[seen % 1024]++;
}

int main(void)
{
	expect(signal(SIGTRAP, count) != SIG_ERR);
	for (int i = 0; i < BREAKS; i++) {
		numbers[i % (1 << 14)]++;
		__asm__ volatile("int3" ::: "memory");
	}
	printf("seen %d\n", seen);
	return 0;
}
