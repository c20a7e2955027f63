/* SPDX-License-Identifier: Apache-2.0 */
/* watch: cells */
/* 200 short-lived threads, eight at a time, that touch watched memory. */
#include <pthread.h>

#include "tests/targets/target.h"

enum { ROUNDS = 25, AT_ONCE = 8 };

static volatile int cells[AT_ONCE];
static int total;

static void *worker(void *argument)
{
	volatile int *cell = argument;

	(*cell)++;
	__atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

int main(void)
{
	pthread_t threads[AT_ONCE];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < AT_ONCE; i++)
			expect(!pthread_create(&threads[i], NULL, worker,
					       (void *)&cells[i]));
		for (int i = 0; i < AT_ONCE; i++)
			expect(!pthread_join(threads[i], NULL));
	}
	for (int i = 0; i < AT_ONCE; i++)
		expect(cells[i] == ROUNDS);
	printf("%d\n", total);
	return 0;
}
