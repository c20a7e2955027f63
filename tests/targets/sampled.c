/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that sleep, each at another depth, and one that works: whose stacks
 * are asked for by the clock.  Ends when its standard input does.  With an
 * argument it works in a signal handler on an alternate stack.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { SLEEPERS = 10 };

static volatile long done;

static void *descend(void *left)
{
	volatile intptr_t depth = (intptr_t)left;

	if (depth == 0)
		pause();
	else
		descend((void *)(depth - 1)); /* no tail call */
	return (void *)depth;
}

/* Most of it are its beginning and its end. */
static __attribute__((noinline)) void add(long more)
{
	done += more;
}

static __attribute__((noinline)) void work(long rounds)
{
	for (long i = 0; i < rounds; i++)
		add(i);
}

static void *worker(void *unused)
{
	for (;;)
		work(100000);
	return unused;
}

static void handler(int signal)
{
	worker(NULL);
}

static void *elsewhere(void *unused)
{
	const struct sigaction action = { .sa_handler = handler,
					  .sa_flags = SA_ONSTACK };
	const stack_t stack = { .ss_size = 1 << 16, .ss_sp = malloc(1 << 16) };

	expect(sigaltstack(&stack, NULL) == 0);
	expect(sigaction(SIGUSR1, &action, NULL) == 0);
	raise(SIGUSR1);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	for (intptr_t i = 0; i < SLEEPERS; i++)
		expect(pthread_create(&thread, NULL, descend, (void *)i) == 0);
	expect(pthread_create(&thread, NULL, argc > 1 ? elsewhere : worker,
			      NULL) == 0);
	printf("ready\n");
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
