/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:heap */
/* options: --sample=10 */
/*
 * Signals that do nothing (SIGWINCH by default, SIGUSR1 ignored) never end a
 * call with EINTR, whether pages are closed just then or not; what the program
 * does with SIGUSR1 changes meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { ROUNDS = 20, WAIT = 40 /* ms */ };

static pthread_t waiter;
static volatile int done;

static void *sender(void *unused)
{
	while (!done) {
		usleep(7000);
		pthread_kill(waiter, SIGWINCH);
		pthread_kill(waiter, SIGUSR1);
	}
	return NULL;
}

static void handler(int sig)
{
}

static int count_interrupted(int fd)
{
	int *box = calloc(1, 4096);
	int interrupted = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct epoll_event event;

		box[0]++;
		if (epoll_wait(fd, &event, 1, WAIT) < 0 && errno == EINTR)
			interrupted++;
	}
	expect(box[0] == ROUNDS);
	free(box);
	return interrupted;
}

int main(void)
{
	int fd = epoll_create1(0);
	int quiet, loud;
	pthread_t thread;

	expect(fd >= 0);
	waiter = pthread_self();
	signal(SIGUSR1, SIG_IGN);
	pthread_create(&thread, NULL, sender, NULL);
	quiet = count_interrupted(fd);
	signal(SIGUSR1, handler);
	loud = count_interrupted(fd);
	done = 1;
	pthread_join(thread, NULL);
	printf("%d, then %s\n", quiet, loud == ROUNDS ? "each" : "not each");
	return 0;
}
