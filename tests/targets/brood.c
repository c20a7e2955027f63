/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parent and two children work on, each in its own memory, when a third one
 * has ended: what is kept of one process must not be lost with another.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { CHILDREN = 3, ROUNDS = 150 };

static volatile long counter;

static void work(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		counter++;
		usleep(20000);
	}
}

int main(void)
{
	int status, right = 0;

	for (int i = 0; i < CHILDREN; i++)
		if (fork() == 0) {
			work(i ? ROUNDS : 1);
			_exit(counter == (i ? ROUNDS : 1) ? 7 : 1);
		}
	expect(wait(&status) > 0);
	right += WIFEXITED(status) && WEXITSTATUS(status) == 7;
	printf("ready\n");
	fflush(stdout);
	work(ROUNDS);
	while (wait(&status) > 0)
		right += WIFEXITED(status) && WEXITSTATUS(status) == 7;
	printf("%d, %ld\n", right, counter);
	return 0;
}
