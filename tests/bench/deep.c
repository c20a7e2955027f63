/* SPDX-License-Identifier: Apache-2.0 */
/*
 * So many stores to "place", 30 frames deep (deep STORES [calls]): what a call
 * stack in each event costs.  With "calls" each makes a system call, too.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEPTH = 25 }; /* and main, what calls it, and the inner two */

volatile long place;
static int calls;

static __attribute__((noinline)) void store(long count)
{
	for (long i = 0; i < count; i++) {
		place = i;
		if (calls)
			syscall(SYS_getppid);
	}
}

static __attribute__((noinline)) void descend(int depth, long count)
{
	volatile char frame[40];

	frame[0] = 1;
	if (depth > 0)
		descend(depth - 1, count);
	else
		store(count);
	frame[0]++;
}

int main(int argc, char **argv)
{
	calls = argc > 2;
	descend(DEPTH, argc > 1 ? atol(argv[1]) : 1);
	return 0;
}
