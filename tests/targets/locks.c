/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* Futexes in watched memory: mutex, condition, semaphore, barrier, rwlock. */
#include <pthread.h>
#include <semaphore.h>

#include "tests/targets/target.h"

enum { THREADS = 4, ROUNDS = 200 };

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_barrier_t barrier;
	pthread_rwlock_t rwlock;
	sem_t items;
	int produced, consumed, total, turn;
} box = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
	.rwlock = PTHREAD_RWLOCK_INITIALIZER,
};

static void take_turns(int me)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&box.mutex);
		while (box.turn % THREADS != me)
			pthread_cond_wait(&box.cond, &box.mutex);
		box.turn++;
		pthread_cond_broadcast(&box.cond);
		pthread_mutex_unlock(&box.mutex);
	}
}

static void *worker(void *argument)
{
	int me = (int)(intptr_t)argument;

	take_turns(me);
	pthread_barrier_wait(&box.barrier);
	for (int i = 0; i < ROUNDS; i++) {
		if (me % 2) {
			sem_wait(&box.items);
			__atomic_fetch_add(&box.consumed, 1, __ATOMIC_SEQ_CST);
		} else {
			__atomic_fetch_add(&box.produced, 1, __ATOMIC_SEQ_CST);
			sem_post(&box.items);
		}
		pthread_rwlock_wrlock(&box.rwlock);
		box.total++;
		pthread_rwlock_unlock(&box.rwlock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&box.barrier, NULL, THREADS);
	sem_init(&box.items, 0, 0);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d %d %d %d\n", box.turn, box.produced, box.consumed,
	       box.total);
	return 0;
}
