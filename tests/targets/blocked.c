/* SPDX-License-Identifier: Apache-2.0 */
/* watch: numbers */
/*
 * Threads that block SIGSEGV (and all else) touch watched memory: the kernel
 * resets a blocked signal's handler when it is forced on a thread.
 */
#include <pthread.h>
#include <signal.h>

#include "tests/targets/target.h"

static volatile int numbers[4];

static void handler(int sig)
{
	puts("never");
}

static void *worker(void *argument)
{
	int me = (int)(intptr_t)argument;
	sigset_t set, old;

	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < 500; i++)
		numbers[me]++;
	pthread_sigmask(SIG_SETMASK, NULL, &old);
	expect(sigismember(&old, SIGSEGV) && sigismember(&old, SIGTRAP) &&
	       sigismember(&old, SIGTERM));
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler }, now;
	pthread_t threads[4];

	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGSEGV, &action, NULL);
	for (intptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	sigaction(SIGSEGV, NULL, &now);
	expect(now.sa_handler == handler && sigismember(&now.sa_mask, SIGUSR1));
	printf("%d %d %d %d\n", numbers[0], numbers[1], numbers[2], numbers[3]);
	return 0;
}
