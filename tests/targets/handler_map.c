/* SPDX-License-Identifier: Apache-2.0 */
/* watch: faults */
/* A SIGSEGV handler that opens the page that was hit, as collectors do. */
#include <signal.h>
#include <sys/mman.h>

#include "tests/targets/target.h"

enum { PAGES = 16, PAGE = 4096 };

static char *area;
static volatile int faults[PAGES];

static void handler(int sig, siginfo_t *info, void *context)
{
	size_t page = ((char *)info->si_addr - area) / PAGE;

	expect(page < PAGES && info->si_code == SEGV_ACCERR);
	faults[page]++;
	mprotect(area + page * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO };
	int sum = 0;

	sigaction(SIGSEGV, &action, NULL);
	area = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < PAGES; i++)
			((volatile char *)area)[i * PAGE + 7 * i]++;
	}
	for (int i = 0; i < PAGES; i++)
		sum += faults[i] * (i + 1);
	printf("%d\n", sum);
	return 0;
}
