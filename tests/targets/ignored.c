/* SPDX-License-Identifier: Apache-2.0 */
/* watch: number */
/* SIGSEGV and SIGTRAP are ignored, and stay so. */
#include <signal.h>

#include "tests/targets/target.h"

static volatile int number;

int main(void)
{
	struct sigaction segv, trap;

	signal(SIGSEGV, SIG_IGN);
	signal(SIGTRAP, SIG_IGN);
	for (int i = 0; i < 1000; i++)
		number += i;
	raise(SIGSEGV);
	sigaction(SIGSEGV, NULL, &segv);
	sigaction(SIGTRAP, NULL, &trap);
	printf("%d %d %d\n", number, segv.sa_handler == SIG_IGN,
	       trap.sa_handler == SIG_IGN);
	return 0;
}
