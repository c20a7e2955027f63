/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* watch: apart */
/* args: box */
/* args: apart */
/*
 * A restartable sequence that adds to watched memory, with the sequence's own
 * description on the same page, or not.
 */
#include <sys/rseq.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { ROUNDS = 200, SIGNATURE = 0x53053053 };

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

int main(int argc, char **argv)
{
	volatile long *count =
		strcmp(argv[argc - 1], "apart") ? &box.count : &apart.count;
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() +
					    __rseq_offset);

	for (int done = 0; __rseq_size && done < ROUNDS;)
		done += add_one(area, count);
	area->rseq_cs = 0;
	*count += __rseq_size ? 0 : ROUNDS;
	printf("%ld\n", *count);
	return 0;
}
