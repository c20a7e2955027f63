/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/*
 * A timer's signal interrupts a blocked read(2) without SA_RESTART, once per
 * shot and never more; and with SA_RESTART never.
 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	volatile int shots;
	char byte;
} box;

static int out;

static void handler(int sig)
{
	box.shots++;
	if (out >= 0)
		expect(write(out, "x", 1) == 1);
}

static void shoot(void)
{
	struct itimerval timer = { .it_value.tv_usec = 20000 };

	setitimer(ITIMER_REAL, &timer, NULL);
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler };
	int fds[2], interrupted = 0;

	expect(pipe(fds) == 0);
	out = -1;
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < 5; i++) {
		shoot();
		if (read(fds[0], &box.byte, 1) < 0 && errno == EINTR)
			interrupted++;
	}
	out = fds[1];
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < 5; i++) {
		shoot();
		expect(read(fds[0], &box.byte, 1) == 1 && box.byte == 'x');
	}
	printf("%d shots, %d interrupted\n", box.shots, interrupted);
	return 0;
}
