/* SPDX-License-Identifier: Apache-2.0 */
/* watch: watched */
/* options: --no-run-ahead */
/*
 * Code of a file that stays writable, and changes before each turn; it touches
 * only a neighbour of what is watched.
 */
#include <sys/mman.h>

#include "tests/targets/target.h"

enum { TURNS = 20, IMMEDIATE = 7 };

/* On one page. */
static _Alignas(4096) volatile uint64_t watched = 1;
static volatile uint64_t neighbour = 2;

static __attribute__((__noinline__, __aligned__(64))) void work(void)
{
	__asm__ volatile("addq $1, %0" : "+m"(neighbour) : : "cc");
}

int main(void)
{
	uint64_t at = (uint64_t)(uintptr_t)work & ~UINT64_C(4095);
	unsigned char *text = (unsigned char *)(uintptr_t)work;
	size_t i = 0;

	expect(((uintptr_t)&watched ^ (uintptr_t)&neighbour) < 4096);
	watched++;
	expect(!mprotect((void *)(uintptr_t)at, 8192,
			 PROT_READ | PROT_WRITE | PROT_EXEC));
	while (memcmp(text + i, "\x48\x83\x05", 3) != 0)
		expect(++i < 64);
	for (unsigned char k = 1; k < TURNS; k++) {
		text[i + IMMEDIATE] = k;
		work();
	}
	printf("%lu\n", neighbour);
	return 0;
}
