/* SPDX-License-Identifier: Apache-2.0 */
/* watch: arena */
/* args: 2000 */
/*
 * Something to attach to.  Four threads hammer a global, each for N rounds,
 * or without N until standard input ends, for which the main thread waits in
 * epoll_wait(2): an interrupted call there is told.  Checks its own result.
 * With "storm" 200 threads are born and gone each second besides.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	uint64_t shared;
	volatile uint64_t own[4];
} arena;

static uint64_t rounds; /* 0: until told */
static volatile int told, named;
static uint64_t done[4];

static void on_user(int sig)
{
}

static void *one_blow(void *argument)
{
	__atomic_fetch_add(&arena.shared, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Returns how many threads there were. */
static void *storm(void *argument)
{
	enum { AT_ONCE = 4 };
	pthread_t thread[AT_ONCE];
	uintptr_t born = 0;

	prctl(PR_SET_NAME, "storm");
	named = 1;
	while (!told) {
		for (int i = 0; i < AT_ONCE; i++, born++)
			expect(!pthread_create(&thread[i], NULL, one_blow,
					       NULL));
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(thread[i], NULL);
		usleep(AT_ONCE * 5000);
	}
	return (void *)born;
}

static void *hammer(void *argument)
{
	int me = (int)(intptr_t)argument;

	while (rounds ? done[me] < rounds : !told) {
		__atomic_fetch_add(&arena.shared, 1, __ATOMIC_SEQ_CST);
		arena.own[me] = arena.own[me] + 1;
		done[me]++;
	}
	return NULL;
}

static int wait_for_end(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), interrupted = 0;

	expect(epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) == 0);
	while (epoll_wait(epoll, &event, 1, -1) < 0) {
		expect(errno == EINTR);
		interrupted++;
	}
	return interrupted;
}

int main(int argc, char **argv)
{
	bool storms = argc > 1 && !strcmp(argv[1], "storm");
	pthread_t threads[4], stormer;
	void *born = NULL;
	int interrupted = 0;
	uint64_t sum = 0;
	sigset_t set;

	if (argc > 1 && !storms)
		rounds = strtoull(argv[1], NULL, 10);
	signal(SIGUSR1, on_user);
	signal(SIGUSR2, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);

	for (intptr_t i = 0; i < 4; i++)
		expect(!pthread_create(&threads[i], NULL, hammer, (void *)i));
	/* A thread is born with all signals blocked; that must be over. */
	for (int i = 0; i < 4; i++)
		while (!__atomic_load_n(&done[i], __ATOMIC_RELAXED))
			sched_yield();
	if (storms)
		expect(!pthread_create(&stormer, NULL, storm, NULL));
	while (storms && !named)
		sched_yield();
	puts("ready");
	fflush(stdout);
	if (!rounds)
		interrupted = wait_for_end();
	told = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++) {
		expect(arena.own[i] == done[i]);
		sum += done[i];
	}
	if (storms)
		pthread_join(stormer, &born);
	expect(arena.shared == sum + (uintptr_t)born && sum > 0);
	printf("right, interrupted %d\n", interrupted);
	return 0;
}
