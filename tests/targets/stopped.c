/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* A child stops us and lets us go on, as ^Z and fg do. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	volatile int continued;
	volatile uint64_t turns;
} box;

static int heard[2]; /* a pipe: signals that wait are only one */

static void handler(int sig)
{
	box.continued++;
	expect(write(heard[1], "", 1) == 1);
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 100000 };
	pid_t parent = getpid(), pid;
	int status;

	expect(pipe(heard) == 0);
	signal(SIGCONT, handler);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++) {
			usleep(30000);
			kill(parent, SIGSTOP);
			usleep(60000);
			kill(parent, SIGCONT);
			expect(read(heard[0], &status, 1) == 1);
		}
		usleep(30000);
		_exit(4);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		box.turns++;
		nanosleep(&pause, NULL);
	}
	printf("%d %d %d\n", box.continued, box.turns > 0, WEXITSTATUS(status));
	return 0;
}
