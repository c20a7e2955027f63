/* SPDX-License-Identifier: Apache-2.0 */
/* watch: counts */
/* args: 300 */
/*
 * Threads that fault on purpose, all at the same time, with a handler that
 * touches watched memory while SIGSEGV is blocked: for a fault there the
 * kernel takes the handler away, which the others need meanwhile.
 */
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "tests/targets/target.h"

enum { THREADS = 4, LENGTH = 3 /* of mov (%rbx), %rax */ };

static volatile long counts[THREADS];
static __thread long me;
static long rounds;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	expect(sig == SIGSEGV && info->si_addr == (void *)8);
	counts[me]++;
	user->uc_mcontext.gregs[REG_RIP] += LENGTH;
}

static void *work(void *argument)
{
	me = (intptr_t)argument;
	for (long i = 0; i < rounds; i++)
		__asm__ volatile(".byte 0x48, 0x8b, 0x03" ::"b"(8)
				 : "rax", "memory");
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO };
	pthread_t thread[THREADS];

	expect(argc == 2);
	rounds = atol(argv[1]);
	sigaction(SIGSEGV, &action, NULL);
	for (intptr_t i = 0; i < THREADS; i++)
		expect(!pthread_create(&thread[i], NULL, work, (void *)i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%ld\n", counts[i]);
	return 0;
}
