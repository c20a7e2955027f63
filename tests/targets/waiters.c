/* SPDX-License-Identifier: Apache-2.0 */
/* watch: watched */
/*
 * Forty threads wait at once for a futex on the page that is watched, more
 * than there are processors: none of their calls fails.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { THREADS = 40 };

static struct {
	volatile int word, waiting;
	volatile long sum;
} watched;

static void *work(void *unused)
{
	__atomic_fetch_add(&watched.waiting, 1, __ATOMIC_SEQ_CST);
	while (!watched.word)
		expect(syscall(SYS_futex, &watched.word, FUTEX_WAIT_PRIVATE, 0,
			       NULL) == 0 ||
		       errno == EAGAIN || errno == EINTR);
	__atomic_fetch_add(&watched.sum, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		expect(!pthread_create(&threads[i], NULL, work, NULL));
	while (watched.waiting < THREADS)
		usleep(1000);
	watched.word = 1;
	syscall(SYS_futex, &watched.word, FUTEX_WAKE_PRIVATE, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", watched.sum);
	return 0;
}
