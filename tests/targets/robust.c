/* SPDX-License-Identifier: Apache-2.0 */
/* watch: watched */
/*
 * Threads end while they hold a robust mutex in watched memory: the next that
 * wants it is told so.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "tests/targets/target.h"

enum { ROUNDS = 5, PATIENCE = 10 /* seconds */ };

static struct {
	long before[512];
	pthread_mutex_t mutex;
	long after[512];
} watched;

static void *end_with_it(void *unused)
{
	pthread_mutex_lock(&watched.mutex);
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t robust;
	int told = 0;

	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&watched.mutex, &robust);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec limit;
		pthread_t thread;

		pthread_create(&thread, NULL, end_with_it, NULL);
		pthread_join(thread, NULL);
		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec += PATIENCE;
		if (pthread_mutex_timedlock(&watched.mutex, &limit) !=
		    EOWNERDEAD)
			break;
		told++;
		pthread_mutex_consistent(&watched.mutex);
		pthread_mutex_unlock(&watched.mutex);
	}
	printf("%d of %d\n", told, ROUNDS);
	return 0;
}
