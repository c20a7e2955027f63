/* SPDX-License-Identifier: Apache-2.0 */
/* watch: number */
/*
 * Children that touch watched memory and children of theirs; each has its
 * own copy, and each exit status is seen.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

static volatile int number = 5;

static int child(int depth)
{
	int status = 0;
	pid_t pid = fork();

	expect(pid >= 0);
	if (pid == 0) {
		number += depth;
		if (depth)
			number += child(depth - 1);
		_exit(number & 0x7f);
	}
	expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		number++;
		printf("%d\n", child(i));
		fflush(stdout);
	}
	printf("%d\n", number);
	return 0;
}
