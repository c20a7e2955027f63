/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:anon */
/* options: --every */
/*
 * Unmaps and protects parts of watched memory, and uses what is left: the
 * tracer must forget what is gone and keep the rest.
 */
#include <sys/mman.h>

#include "tests/targets/target.h"

enum { PAGES = 8, SIZE = 4096 };

int main(void)
{
	volatile char *p = mmap(NULL, PAGES * SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = 0;

	expect(p != MAP_FAILED);
	for (int i = 0; i < PAGES; i++)
		p[i * SIZE] = (char)(i + 1);
	expect(munmap((void *)p, 3 * SIZE) == 0);
	expect(mprotect((void *)(p + 3 * SIZE), SIZE, PROT_READ) == 0);
	expect(munmap((void *)(p + 5 * SIZE), SIZE) == 0);
	for (int i = 3; i < PAGES; i++)
		sum += i == 5 ? 0 : p[i * SIZE];
	expect(mprotect((void *)(p + 3 * SIZE), SIZE, PROT_READ | PROT_WRITE) ==
	       0);
	p[3 * SIZE] = 1;
	printf("%d %d\n", sum, p[3 * SIZE]);
	return 0;
}
