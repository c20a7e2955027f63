/* SPDX-License-Identifier: Apache-2.0 */
/* watch: counter */
/* options: --sample=5 */
/* A socket's own timeout ends a call, however often we interrupt it. */
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "tests/targets/target.h"

/* alone on its page, which is what is sampled */
static _Alignas(4096) volatile long counter[512];
static volatile int stop;

static void *work(void *unused)
{
	while (!stop)
		counter[0]++;
	return NULL;
}

int main(void)
{
	struct timeval half = { .tv_usec = 500000 };
	struct timespec begin, end;
	pthread_t thread;
	int fds[2];
	char byte;

	expect(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	expect(setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &half,
			  sizeof(half)) == 0);
	expect(pthread_create(&thread, NULL, work, NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	expect(recv(fds[0], &byte, 1, 0) == -1 && errno == EAGAIN);
	clock_gettime(CLOCK_MONOTONIC, &end);
	stop = 1;
	expect(pthread_join(thread, NULL) == 0);
	/* at most once more, and the time in which we stop it */
	expect(end.tv_sec - begin.tv_sec < 5);
	puts("in time");
	return 0;
}
