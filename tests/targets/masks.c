/* SPDX-License-Identifier: Apache-2.0 */
/* watch: number */
/* What the kernel says of the signals after all that was done to us. */
#include <signal.h>
#include <string.h>

#include "tests/targets/target.h"

static volatile int number;

static void handler(int sig)
{
	number += 100;
}

static void print_masks(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];

	expect(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "Sig", 3) || !strncmp(line, "Shd", 3))
			if (line[3] != 'Q')
				fputs(line, stdout);
	}
	fclose(file);
}

int main(void)
{
	sigset_t set;

	signal(SIGUSR1, handler);
	signal(SIGSEGV, handler);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGSEGV);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 100; i++) {
		number++;
		if (i % 10 == 0)
			raise(SIGUSR1);
	}
	raise(SIGUSR2); /* stays pending */
	print_masks();
	printf("%d\n", number);
	return 0;
}
