/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lives a few mappings below the limit of the system: the first argument.
 * Pages of one mapping are touched here and there.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE = 4096, PAGES = 4096, ROUNDS = 100 };

int main(int argc, char **argv)
{
	size_t count = (size_t)atol(argc > 1 ? argv[1] : "0") / 2;
	unsigned char *crowd, *area;
	long sum = 0;

	expect(count > 0);
	crowd = mmap(NULL, count * 2 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	area = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(crowd != MAP_FAILED && area != MAP_FAILED);
	for (size_t i = 0; i < count; i++)
		if (mprotect(crowd + i * 2 * PAGE, PAGE, PROT_READ) < 0)
			break;
	/* Some come back, for the tracer's own. */
	mprotect(crowd, 8 * PAGE, PROT_READ | PROT_WRITE);
	puts("ready");
	fflush(stdout);
	for (int k = 0; k < ROUNDS; k++) {
		for (int i = k % 7; i < PAGES; i += 7)
			area[(size_t)i * PAGE]++;
		usleep(10000);
	}
	for (int i = 0; i < PAGES; i++)
		sum += area[(size_t)i * PAGE];
	printf("%ld\n", sum);
	return 0;
}
