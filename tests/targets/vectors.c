/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/*
 * Loads of vector and mask registers, broken in on by a timer: the handler
 * always finds the program in its own code, and every register arrives.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include "tests/targets/target.h"

enum { ROUNDS = 200, WORDS = 8 };

extern char __executable_start, etext;

static uint64_t box[512 / WORDS][WORDS] __attribute__((aligned(4096)));
static volatile int counting, elsewhere;

static void on_tick(int number, siginfo_t *info, void *context)
{
	uint64_t ip = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	if (counting &&
	    (ip < (uint64_t)&__executable_start || ip >= (uint64_t)&etext))
		elsewhere++;
}

/* No call of a library: a tick is to find us in our own code. */
#define CHECK(load, store, words)                                              \
	do {                                                                   \
		for (unsigned i = 0; i < WORDS; i++)                           \
			seen[i] = 0;                                           \
		__asm__ volatile(load "\n\t" store                             \
				 :                                             \
				 : "r"(mine), "r"(seen)                        \
				 : "memory", "xmm3", "xmm4", "xmm14");         \
		for (unsigned i = 0; i < WORDS; i++)                           \
			expect(seen[i] == ((i) < (words) ? first + i : 0));    \
	} while (0)

__attribute__((target("avx2"))) static void avx(uint64_t *mine, uint64_t first)
{
	uint64_t seen[WORDS];

	CHECK("vmovdqu (%0), %%ymm3", "vmovdqu %%ymm3, (%1)", 4);
	CHECK("vmovdqu (%0), %%ymm14", "vmovdqu %%ymm14, (%1)", 4);
	CHECK("vmovdqu (%0), %%xmm14", "vmovdqu %%ymm14, (%1)", 2);
	CHECK("vpcmpeqd %%ymm3, %%ymm3, %%ymm3\n\t"
	      "vpmaskmovq (%0), %%ymm3, %%ymm4",
	      "vmovdqu %%ymm4, (%1)", 4);
}

__attribute__((target("avx512bw,avx512vl"))) static void avx512(uint64_t *mine,
								uint64_t first)
{
	uint64_t seen[WORDS];

	CHECK("vmovdqu64 (%0), %%ymm21", "vmovdqu64 %%zmm21, (%1)", 4);
	CHECK("vmovdqu64 (%0), %%zmm14", "vmovdqu64 %%zmm14, (%1)", 8);
	CHECK("vmovdqu64 (%0), %%ymm14", "vmovdqu64 %%zmm14, (%1)", 4);
	CHECK("kmovq (%0), %%k3", "kmovq %%k3, (%1)", 1);
}

static void *work(void *argument)
{
	uint64_t *mine = argument;
	int has_avx = __builtin_cpu_supports("avx2");
	int has_avx512 = __builtin_cpu_supports("avx512bw") &&
			 __builtin_cpu_supports("avx512vl");

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t first = i / 64 * UINT64_C(0x9e3779b97f4a7c15);

		for (unsigned k = 0; i % 64 == 0 && k < WORDS; k++)
			mine[k] = first + k;
		if (has_avx)
			avx(mine, first);
		if (has_avx512)
			avx512(mine, first);
	}
	return NULL;
}

int main(void)
{
	struct itimerval often = { { 0, 3000 }, { 0, 3000 } };
	struct sigaction action = { .sa_sigaction = on_tick,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t thread;
	sigset_t ticks;

	/* Ticks are for us alone, while the other thread does the same. */
	sigemptyset(&ticks);
	sigaddset(&ticks, SIGALRM);
	expect(!sigaction(SIGALRM, &action, NULL));
	expect(!pthread_sigmask(SIG_BLOCK, &ticks, NULL));
	expect(!pthread_create(&thread, NULL, work, box[1]));
	expect(!setitimer(ITIMER_REAL, &often, NULL));
	expect(!pthread_sigmask(SIG_UNBLOCK, &ticks, NULL));
	counting = 1;
	work(box[0]);
	counting = 0;
	expect(!pthread_sigmask(SIG_BLOCK, &ticks, NULL));
	expect(!pthread_join(thread, NULL));
	printf("elsewhere %d times\n", elsewhere);
	return 0;
}
