/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:anon */
/* options: --sample=20 */
/*
 * A handler of SIGSEGV, which is blocked meanwhile, touches closed pages all
 * the time: slices end while such a fault, which made the kernel take the
 * handler away, is on its way.
 */
#include <setjmp.h>
#include <signal.h>
#include <time.h>

#include "tests/targets/target.h"

enum { PAGE_LONGS = 512, PAGES = 400, SECONDS = 3 };

static sigjmp_buf back;
static volatile long *box;

static void handler(int sig)
{
	for (int i = 0; i < PAGES; i++)
		box[i * PAGE_LONGS]++;
	siglongjmp(back, 1);
}

int main(void)
{
	struct timespec begin, now;
	volatile long rounds = 0;
	long right = 0;

	box = malloc(PAGES * PAGE_LONGS * sizeof(*box));
	expect(box);
	memset((void *)box, 0, PAGES * PAGE_LONGS * sizeof(*box));
	signal(SIGSEGV, handler);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		rounds++;
		if (sigsetjmp(back, 1) == 0)
			*(volatile int *)8 = 1;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < SECONDS);
	for (int i = 0; i < PAGES; i++)
		right += box[i * PAGE_LONGS] == rounds;
	printf("%ld of %d\n", right, PAGES);
	return 0;
}
