/* SPDX-License-Identifier: Apache-2.0 */
/* options: --every */
/* watch: map:stack */
/*
 * A thread gets signals while another one sets their handler, and ignores
 * them, again and again: their frames lie on a watched stack.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { SIGNALS = 60, PAUSE = 200 /* us */ };

static volatile bool done;

static void on_signal(int sig)
{
	volatile int here = sig;

	expect(here == SIGUSR1);
}

static void *take(void *argument)
{
	while (!done) {
		signal(SIGUSR1, SIG_IGN);
		signal(SIGUSR1, on_signal);
	}
	return NULL;
}

static void *work(void *argument)
{
	volatile long sum = 0;

	while (!done)
		sum++;
	return NULL;
}

int main(void)
{
	pthread_t taker, worker;

	signal(SIGUSR1, on_signal);
	expect(pthread_create(&taker, NULL, take, NULL) == 0);
	expect(pthread_create(&worker, NULL, work, NULL) == 0);
	for (int i = 0; i < SIGNALS; i++) {
		pthread_kill(worker, SIGUSR1);
		usleep(PAUSE);
	}
	done = true;
	pthread_join(worker, NULL);
	pthread_join(taker, NULL);
	puts("done");
	return 0;
}
