/* SPDX-License-Identifier: Apache-2.0 */
/* watch: number */
/*
 * A debugger: it seizes each child that it forks at once, which whoever still
 * traces the child would prevent; strace(1) does so to learn what ptrace can.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { CHILDREN = 50 };

static volatile int number;

int main(void)
{
	int seized = 0;

	for (int i = 0; i < CHILDREN; i++) {
		int status = 0;
		pid_t pid = fork();

		expect(pid >= 0);
		while (pid == 0)
			pause();
		seized += ptrace(PTRACE_SEIZE, pid, 0, 0) == 0;
		number++;
		kill(pid, SIGKILL);
		expect(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	}
	printf("seized %d of %d\n", seized, number);
	return 0;
}
