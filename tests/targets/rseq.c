/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* watch: apart */
/* args: box */
/* args: apart */
/* args: moved */
/*
 * A restartable sequence that adds to watched memory, with the sequence's own
 * description on the same page, or not; or with an area that the program
 * brings itself, when watched memory was touched before.
 */
#include <pthread.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { ROUNDS = 200, TRIES = 100000, SIGNATURE = 0x53053053 };

/* What the kernel is told of it. */
static struct {
	struct {
		uint32_t version, flags;
		uint64_t start, size, abort;
	} sequence;
	volatile long count;
} box __attribute__((aligned(4096)));

static struct {
	volatile long count;
	char rest[4096 - sizeof(long)];
} apart __attribute__((aligned(4096)));

/* 1: done; 0: broken off before it was. */
static int add_one(struct rseq *area, volatile long *count)
{
	int done = 0;

	__asm__ volatile(
		"leaq 1f(%%rip), %%rax\n\t"
		"movq %%rax, %[start]\n\t"
		"leaq 2f(%%rip), %%rcx\n\t"
		"subq %%rax, %%rcx\n\t"
		"movq %%rcx, %[size]\n\t"
		"leaq 3f(%%rip), %%rax\n\t"
		"movq %%rax, %[abort]\n\t"
		"leaq %[sequence], %%rax\n\t"
		"movq %%rax, %[area]\n"
		"1:\tmovq %[count], %%rax\n\t"
		"addq $1, %%rax\n\t"
		"movq %%rax, %[count]\n"
		"2:\tmovl $1, %[done]\n\t"
		"jmp 4f\n\t"
		".byte 0x0f, 0xb9, 0x3d\n\t"
		".long 0x53053053\n"
		"3:\tnop\n"
		"4:\n\t"
		: [start] "=m"(box.sequence.start),
		  [size] "=m"(box.sequence.size),
		  [abort] "=m"(box.sequence.abort), [area] "=m"(area->rseq_cs),
		  [count] "+m"(*count), [done] "+m"(done)
		: [sequence] "m"(box.sequence)
		: "rax", "rcx", "memory", "cc");
	return done;
}

static void *wait_for_ever(void *unused)
{
	pause();
	return NULL;
}

/* With another thread, so that each access is a stop. */
static struct rseq *move(struct rseq *from)
{
	static struct rseq area;
	pthread_t thread;

	expect(!pthread_create(&thread, NULL, wait_for_ever, NULL));
	expect(!syscall(SYS_rseq, from, sizeof(area), RSEQ_FLAG_UNREGISTER,
			SIGNATURE));
	expect(!syscall(SYS_rseq, &area, sizeof(area), 0, SIGNATURE));
	return &area;
}

int main(int argc, char **argv)
{
	const char *kind = argv[argc - 1];
	volatile long *count = strcmp(kind, "box") ? &apart.count : &box.count;
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() +
					    __rseq_offset);
	int tries = 0;

	*count = 0;
	if (__rseq_size && !strcmp(kind, "moved"))
		area = move(area);
	for (int done = 0; __rseq_size && done < ROUNDS;) {
		done += add_one(area, count);
		expect(tries++ < TRIES);
	}
	area->rseq_cs = 0;
	*count += __rseq_size ? 0 : ROUNDS;
	printf("%ld\n", *count);
	return 0;
}
