/* SPDX-License-Identifier: Apache-2.0 */
/* watch: count */
/* options: -f --every */
/*
 * Faults of threads that end a process, though it has a handler: SIGSEGV is
 * blocked, or there is no stack for the handler.  Another thread that blocks it
 * faults on watched memory all the while.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { CASES = 3, BEFORE_US = 20000 };

static volatile long count;

static void on_fault(int sig)
{
	_exit(9);
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(how, &set, NULL);
}

static void *work(void *argument)
{
	for (;;) {
		count++;
		usleep(1000);
	}
	return NULL;
}

static void fail(int which)
{
	pthread_t thread;

	signal(SIGSEGV, on_fault);
	block(SIG_BLOCK);
	expect(!pthread_create(&thread, NULL, work, NULL));
	usleep(BEFORE_US);
	if (which != 0)
		block(SIG_UNBLOCK);
	if (which != 1)
		*(volatile int *)16 = 1;
	__asm__ volatile("mov $8, %%rsp\n\t"
			 "push %%rax" ::
				 : "memory");
}

int main(void)
{
	int status;

	for (int i = 0; i < CASES; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			fail(i);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		printf("%d %x\n", i, (unsigned)status & 0xff7f);
	}
	return 0;
}
