/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:heap */
/* options: --every */
/* args: 500 */
/*
 * Of memory at multiples of 64 MiB: an arena of malloc's, which a thread makes
 * and grows, and a mapping of the program's own, a byte of which is touched
 * before and after.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "tests/targets/target.h"

static const size_t step = (size_t)64 << 20, size = (size_t)1 << 30;

/* Blocks too small to be mapped one by one. */
static void *allocate(void *count)
{
	uint32_t *last = NULL;
	long sum = 0;

	for (uint32_t i = 0; i < *(const uint32_t *)count; i++) {
		uint32_t *block = malloc(1000);

		expect(block);
		block[0] = i;
		block[1] = 0xa3e4a;
		sum += last ? last[0] : 0;
		last = block;
	}
	printf("%ld\n", sum);
	return NULL;
}

int main(int argc, char *argv[])
{
	char *room = mmap(NULL, size + step, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	volatile char *own;
	pthread_t thread;
	uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;

	expect(room != MAP_FAILED);
	own = room + (step - (uintptr_t)room % step) % step;
	expect(mprotect((void *)(uintptr_t)own, size, PROT_READ | PROT_WRITE) ==
	       0);
	own[5] = 0x5a;
	own[step + 5] = 0x5b;
	expect(pthread_create(&thread, NULL, allocate, &count) == 0);
	expect(pthread_join(thread, NULL) == 0);
	own[6] = 0x5c;
	printf("%d\n", own[5] + own[6]);
	return 0;
}
