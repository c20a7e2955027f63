/* SPDX-License-Identifier: Apache-2.0 */
/* watch: array */
/* args: SEGV thread */
/* args: SEGV process */
/* args: SEGV both */
/* args: SEGV queue */
/* args: SEGV thread_queue */
/* args: TRAP thread */
/* args: TRAP process */
/* args: TRAP both */
/* args: TRAP queue */
/* args: TRAP thread_queue */
/*
 * A signal that the program sent itself is blocked, and stays pending, while
 * it touches watched memory; some instructions are stepped.  In the end it
 * comes as it was sent, with sigwaitinfo(2) and to a handler, and waits in the
 * queue that it was sent to, of the thread or of the process.  With a number of
 * rounds it takes its time, to be attached to.
 */
#include <pthread.h>
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
	const union sigval value = { .sival_int = 5 };

	if (!strcmp(how, "queue"))
		sigqueue(getpid(), number, value);
	if (!strcmp(how, "thread_queue"))
		pthread_sigqueue(pthread_self(), number, value);
	if (!strcmp(how, "thread") || !strcmp(how, "both"))
		syscall(SYS_tgkill, getpid(), gettid(), number);
	if (!strcmp(how, "process") || !strcmp(how, "both"))
		kill(getpid(), number);
}

/* In which queues it waits: 1 of the thread, 2 of the process. */
static int queues(void)
{
	FILE *file = fopen("/proc/thread-self/status", "r");
	unsigned long long set;
	char line[256];
	int found = 0;

	expect(file);
	while (fgets(line, sizeof(line), file)) {
		bool shared = !strncmp(line, "ShdPnd:", 7);

		if ((shared || !strncmp(line, "SigPnd:", 7)) &&
		    sscanf(line + 7, "%llx", &set) == 1 &&
		    set & 1ull << (number - 1))
			found |= 1 << shared;
	}
	fclose(file);
	return found;
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
		printf("%d %d %d ", waits(), queues(), handled);
		block(SIG_UNBLOCK);
		touch();
		printf("%d %d %d\n", waits(), handled, code);
	}
	printf("%d %lu\n", seen, (unsigned long)array[8]);
	return 0;
}
