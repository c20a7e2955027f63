/* SPDX-License-Identifier: Apache-2.0 */
/* watch: number */
/* args: status */
/* args: abort */
/* args: kill */
/* args: term */
/* args: crash */
/* args: trap */
/* args: illegal */
/* args: divide */
/* The ways to end, after touching watched memory. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/targets/target.h"

static volatile int number;

static void end(const char *how)
{
	volatile int *volatile nowhere = NULL;

	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "crash"))
		*nowhere = number;
	if (!strcmp(how, "trap"))
		__asm__ volatile("int3");
	if (!strcmp(how, "illegal"))
		__asm__ volatile("ud2");
	if (!strcmp(how, "divide"))
		__asm__ volatile("xor %%edx, %%edx; mov $1, %%eax; idivl %0"
				 :
				 : "m"(*(int *)&number)
				 : "eax", "edx");
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < 100; i++)
		number++;
	printf("%d\n", number);
	fflush(stdout);
	number = 0;
	end(argc > 1 ? argv[1] : "status");
	return 3;
}
