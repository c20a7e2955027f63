/* SPDX-License-Identifier: Apache-2.0 */
/* watch: tally */
/* args: 100 */
/*
 * Workers that fork all the time are killed in the middle of it.  Children
 * that were born meanwhile must come to their end: each holds a pipe open
 * until then.  Each works on its own copy of the watched tally, and says so
 * if it is wrong.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

static volatile uint64_t tally;

static void child(int out)
{
	tally++;
	if (tally != 1)
		(void)!write(out, "!", 1);
	_exit(0);
}

static void worker(int out)
{
	for (;;)
		if (fork() == 0)
			child(out);
		else
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, wrong = 0;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < rounds; i++) {
		int fds[2];
		char byte;
		pid_t pid;

		expect(pipe(fds) == 0);
		pid = fork();
		if (pid == 0)
			worker(fds[1]);
		close(fds[1]);
		usleep((useconds_t)(1000 + i * 7919 % 20000));
		kill(pid, SIGKILL);
		while (read(fds[0], &byte, 1) > 0)
			wrong++;
		close(fds[0]);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		tally = 0;
	}
	printf("%d wrong\n", wrong);
	return 0;
}
