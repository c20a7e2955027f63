/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* Sleeping by watched times; a signal leaves the rest in watched memory. */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "tests/targets/target.h"

static struct {
	struct timespec time, rest;
	struct itimerval timer;
} box;

static void handler(int sig)
{
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler };
	int r;

	box.time.tv_nsec = 20000000;
	for (int i = 0; i < 3; i++)
		printf("%d\n", nanosleep(&box.time, &box.rest));
	printf("%d\n", clock_nanosleep(CLOCK_MONOTONIC, 0, &box.time, NULL));

	sigaction(SIGALRM, &action, NULL);
	box.timer.it_value.tv_usec = 50000;
	setitimer(ITIMER_REAL, &box.timer, NULL);
	box.time.tv_sec = 100;
	r = nanosleep(&box.time, &box.rest);
	printf("%d %d %d\n", r, errno == EINTR,
	       box.rest.tv_sec >= 50 && box.rest.tv_sec <= 100);
	return 0;
}
