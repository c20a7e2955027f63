/* SPDX-License-Identifier: Apache-2.0 */
/* watch: arena */
/* args: 1000 3 */
/*
 * A thousand threads, all alive at once, that all store into watched memory:
 * "crowd N TURNS", or without TURNS until standard input ends.  Checks its own
 * result.  "crowd N sleepy" lets each sleep for a while after each turn.
 */
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { MOST = 1000 };

static struct {
	uint64_t shared;
	volatile uint64_t own[MOST];
} arena;

static uint64_t turns; /* 0: until told */
static bool sleepy;
static volatile bool told;
static uint64_t done[MOST];
static pthread_barrier_t all_there;

static void *work(void *argument)
{
	size_t me = (size_t)argument;

	pthread_barrier_wait(&all_there);
	while (turns ? done[me] < turns : !told) {
		__atomic_fetch_add(&arena.shared, 1, __ATOMIC_SEQ_CST);
		arena.own[me] = arena.own[me] + 1;
		done[me]++;
		if (sleepy)
			usleep(50000);
	}
	/* Nobody leaves before the last one is done. */
	pthread_barrier_wait(&all_there);
	return NULL;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : MOST;
	static pthread_t thread[MOST];
	pthread_attr_t attr;
	uint64_t sum = 0;
	char byte;

	expect(count <= MOST);
	sleepy = argc > 2 && !strcmp(argv[2], "sleepy");
	turns = argc > 2 && !sleepy ? strtoull(argv[2], NULL, 10) : 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
	for (size_t i = 0; i < count; i++)
		expect(!pthread_create(&thread[i], &attr, work, (void *)i));
	pthread_barrier_wait(&all_there);
	puts("ready");
	fflush(stdout);
	while (!turns && read(STDIN_FILENO, &byte, 1) > 0)
		;
	told = true;
	pthread_barrier_wait(&all_there);
	for (size_t i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < count; i++) {
		expect(arena.own[i] == done[i] && done[i] > 0);
		sum += done[i];
	}
	expect(arena.shared == sum);
	puts("right");
	return 0;
}
