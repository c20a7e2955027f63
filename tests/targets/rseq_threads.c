/* SPDX-License-Identifier: Apache-2.0 */
/* watch: counter */
/* options: --on write */
/*
 * Threads on one processor that count in restartable sequences, whose loads
 * do not stop: a store that is made although its sequence was broken off
 * takes back what another thread has counted.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/rseq.h>

#include "tests/targets/target.h"

enum { THREADS = 4, BEFORE = 40, ROUNDS = 300 };

/* What the kernel is told of one. */
struct sequence {
	uint32_t version, flags;
	uint64_t start, size, abort;
} __attribute__((aligned(32)));

static _Alignas(4096) struct {
	volatile long count;
	volatile long other;
	char rest[4096 - 2 * sizeof(long)];
} counter;

/* 1: done; 0: broken off before it was. */
static int add_one(struct rseq *area, struct sequence *sequence)
{
	int done = 0;

	__asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
			 "movq %%rax, 8(%[sequence])\n\t"
			 "leaq 2f(%%rip), %%rcx\n\t"
			 "subq %%rax, %%rcx\n\t"
			 "movq %%rcx, 16(%[sequence])\n\t"
			 "leaq 3f(%%rip), %%rax\n\t"
			 "movq %%rax, 24(%[sequence])\n\t"
			 "movq %[sequence], %[area]\n"
			 "1:\tmovq %[count], %%rax\n\t"
			 "addq $1, %%rax\n\t"
			 "movq %%rax, %[count]\n"
			 "2:\tmovl $1, %[done]\n\t"
			 "jmp 4f\n\t"
			 ".byte 0x0f, 0xb9, 0x3d\n\t"
			 ".long 0x53053053\n"
			 "3:\tnop\n"
			 "4:\n\t"
			 : [area] "=m"(area->rseq_cs),
			   [count] "+m"(counter.count), [done] "+m"(done)
			 : [sequence] "r"(sequence)
			 : "rax", "rcx", "memory", "cc");
	return done;
}

static void *work(void *unused)
{
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() +
					    __rseq_offset);
	struct sequence sequence = { 0 };

	for (int i = 0; i < BEFORE; i++)
		__atomic_add_fetch(&counter.other, 1, __ATOMIC_RELAXED);
	for (int done = 0; __rseq_size && done < ROUNDS;)
		done += add_one(area, &sequence);
	area->rseq_cs = 0;
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	expect(sched_setaffinity(0, sizeof(one), &one) == 0);
	for (int i = 0; i < THREADS; i++)
		expect(!pthread_create(&thread[i], NULL, work, NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%ld %ld\n", counter.count, counter.other);
	return 0;
}
