/* SPDX-License-Identifier: Apache-2.0 */
/* watch: watched */
/*
 * Instructions that read watched memory and raise an exception: each reaches
 * its handler, once.
 */
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { ROUNDS = 1000 };

static struct {
	volatile int zero;
	volatile long rounds;
} watched;

static sigjmp_buf back;
static volatile int hits;

static void handler(int sig, siginfo_t *info, void *context)
{
	hits += info->si_code == FPE_INTDIV;
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGFPE, &action, NULL);
	puts("ready");
	fflush(stdout);
	while (watched.rounds < ROUNDS) {
		watched.rounds++;
		if (sigsetjmp(back, 1) == 0)
			__asm__ volatile("cltd\n\tidivl %1"
					 :
					 : "a"(1), "m"(watched.zero)
					 : "edx");
		usleep(1000);
	}
	printf("%d\n", hits);
	return 0;
}
