/* SPDX-License-Identifier: Apache-2.0 */
/* watch: array */
/* args: SEGV thread */
/* args: SEGV process */
/* args: SEGV both */
/* args: TRAP thread */
/* args: TRAP process */
/* args: TRAP both */
/*
 * A signal that the program sent itself is blocked, and stays pending, while
 * it touches watched memory; some instructions are stepped.  In the end it
 * comes as it was sent, with sigwaitinfo(2) and to a handler.  With a number of
 * rounds it takes its time, to be attached to.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE = 4096, ROUNDS = 20 };

static _Alignas(PAGE) volatile uint64_t array[512];
static volatile sig_atomic_t handled, code;
static int number;

static void handle(int signal, siginfo_t *info, void *context)
{
	handled++;
	code = info->si_code;
}

static void put(const char *how)
{
	if (strcmp(how, "process") != 0)
		syscall(SYS_tgkill, getpid(), gettid(), number);
	if (strcmp(how, "thread") != 0)
		kill(getpid(), number);
}

static void touch(void)
{
	for (int i = 0; i < 3; i++) {
		array[i]++;
		__asm__ volatile("xsave %0" : "=m"(array[64]) : "a"(3), "d"(0));
		__asm__ volatile("lock incq %0" : "+m"(array[8]));
	}
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(how, &set, NULL);
}

static bool waits(void)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, number);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = handle,
				    .sa_flags = SA_SIGINFO };
	struct timespec none = { 0 };
	int seen = 0;

	int rounds = argc > 3 ? atoi(argv[3]) : ROUNDS;

	expect(argc >= 3);
	number = strcmp(argv[1], "SEGV") ? SIGTRAP : SIGSEGV;
	sigaction(number, &action, NULL);
	for (int i = 0; i < rounds; i++) {
		siginfo_t info;
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, number);
		block(SIG_BLOCK);
		put(argv[2]);
		touch();
		if (argc > 3)
			usleep(2000);
		while (i % 2 && sigtimedwait(&set, &info, &none) == number)
			seen += info.si_code == SI_TKILL ? 100 : 1;
		touch();
		printf("%d %d ", waits(), handled);
		block(SIG_UNBLOCK);
		touch();
		printf("%d %d %d\n", waits(), handled, code);
	}
	printf("%d %lu\n", seen, (unsigned long)array[8]);
	return 0;
}
