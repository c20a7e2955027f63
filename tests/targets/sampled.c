/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:heap */
/* options: --sample=50 */
/*
 * Sixteen threads, most of which sleep most of the time, touch memory that is
 * closed and opened all the time: at the end of a slice several have a fault
 * that is not told yet.
 */
#include <pthread.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { THREADS = 16, PAGES = 16, PAGE_LONGS = 512, ROUNDS = 100 };

static volatile long *box;

static void *work(void *argument)
{
	long me = (intptr_t)argument;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < PAGES; i++)
			box[i * PAGE_LONGS + me]++;
		if (me % 4)
			usleep(2000);
		else
			for (volatile int i = 0; i < 20000; i++)
				;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	long right = 0;

	box = calloc(PAGES * PAGE_LONGS, sizeof(*box));
	expect(box);
	for (intptr_t i = 0; i < THREADS; i++)
		expect(!pthread_create(&threads[i], NULL, work, (void *)i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PAGES; i++)
		for (int me = 0; me < THREADS; me++)
			right += box[i * PAGE_LONGS + me] == ROUNDS;
	printf("%ld of %d\n", right, PAGES * THREADS);
	return 0;
}
