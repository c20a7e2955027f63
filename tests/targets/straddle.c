/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/*
 * Operands that lie half in private memory and half in shared: of a closed
 * page the one takes what is forced upon it, the other does not.
 */
#include <sys/mman.h>

#include "tests/targets/target.h"

enum { PAGE = 4096, TURNS = 100, SHIFT = 5 };

static _Alignas(4096) volatile unsigned char box[2 * PAGE];

static void add(volatile uint64_t *at)
{
	for (int i = 0; i < TURNS; i++)
		__asm__ volatile("addq $3, %0" : "+m"(*at) : : "cc");
	printf("%lu\n", *at);
}

/* Each byte is read where an earlier turn has written. */
static void spread(volatile unsigned char *from, size_t size)
{
	volatile unsigned char *to = from + SHIFT;

	for (int i = 0; i < SHIFT; i++)
		from[i] = (unsigned char)(i + 1);
	__asm__ volatile("rep movsb"
			 : "+S"(from), "+D"(to), "+c"(size)
			 :
			 : "memory");
}

int main(void)
{
	unsigned char copy[2 * PAGE];
	void *second = (void *)(box + PAGE);

	expect(mmap(second, PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == second);
	add((volatile uint64_t *)(box + PAGE - 4));
	spread(box + PAGE - 200, 400);
	for (size_t i = 0; i < sizeof(copy); i++)
		copy[i] = box[i];
	printf("%016lx\n", hash(copy, sizeof(copy)));
	return 0;
}
