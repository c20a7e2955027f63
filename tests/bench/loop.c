/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One access, or one system call, again and again; it measures itself, so
 * that starting up and ending do not count.
 *
 *	loop KIND ROUNDS	prints nanoseconds per round
 *	loop spin THREADS	prints "ready", and at the end of its input the
 *				longest pause that a thread saw, milliseconds
 *
 * Exits with 77 where the processor cannot.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE_SIZE = 4096,
	CALL_SIZE = 64,
	LARGE_SIZE = 1 << 20,
	NO_SUCH_PROCESSOR = 77
};

/* Alone in its page, so that nothing else stops. */
_Alignas(PAGE_SIZE) char watched[PAGE_SIZE];
_Alignas(PAGE_SIZE) char unwatched[PAGE_SIZE];
_Alignas(PAGE_SIZE) char large[LARGE_SIZE];

static int zeros;    /* /dev/zero */
static char *source; /* of what is moved to large */
static int sink;     /* /dev/null */

/* One instruction that touches memory in each round. */
#define LOOP(name, instruction, ...)                                           \
	static void name(unsigned long rounds)                                 \
	{                                                                      \
		for (unsigned long i = 0; i < rounds; i++)                     \
			__asm__ volatile(instruction ::"r"(watched), "a"(i)    \
					 : "memory", ##__VA_ARGS__);           \
	}

LOOP(store, "mov %%rax, (%0)")
LOOP(load, "mov (%0), %%rdx", "rdx")
LOOP(add, "add %%rax, (%0)", "cc")
LOOP(lock_add, "lock add %%rax, (%0)", "cc")
LOOP(sse_store, "movaps %%xmm1, (%0)")
LOOP(sse_load, "movaps (%0), %%xmm1", "xmm1")
LOOP(avx_store, "vmovaps %%ymm1, (%0)")
LOOP(avx_load, "vmovaps (%0), %%ymm1", "xmm1")

/* Over all of the page, as a compiler makes it; one access a round. */
static void sum(unsigned long rounds)
{
	const volatile uint64_t *word = (const volatile uint64_t *)watched;
	uint64_t total = 0;

	for (unsigned long i = 0; i < rounds; i++)
		total += word[i % (PAGE_SIZE / 8)];
	__asm__ volatile("" ::"r"(total));
}

static void fill(unsigned long rounds)
{
	volatile uint64_t *word = (volatile uint64_t *)watched;

	for (unsigned long i = 0; i < rounds; i++)
		word[i % (PAGE_SIZE / 8)] = i;
}

/* A run over many pages of which each is watched. */
static void move(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++) {
		void *to = large, *from = source;
		size_t left = LARGE_SIZE;

		__asm__ volatile("rep movsb"
				 : "+D"(to), "+S"(from), "+c"(left)::"memory");
	}
}

static void read_into(void *buffer, unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		if (read(zeros, buffer, CALL_SIZE) != CALL_SIZE)
			exit(1);
}

static void read_watched(unsigned long rounds)
{
	read_into(watched, rounds);
}

static void read_unwatched(unsigned long rounds)
{
	read_into(unwatched, rounds);
}

static void ask_parent(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		syscall(SYS_getppid);
}

static void write_unwatched(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		if (write(sink, unwatched, CALL_SIZE) != CALL_SIZE)
			exit(1);
}

static const struct {
	const char *name;
	void (*run)(unsigned long rounds);
	bool avx;
} kinds[] = {
	{ "store", store, false },
	{ "load", load, false },
	{ "add", add, false },
	{ "lock_add", lock_add, false },
	{ "sse_store", sse_store, false },
	{ "sse_load", sse_load, false },
	{ "avx_store", avx_store, true },
	{ "avx_load", avx_load, true },
	{ "sum", sum, false },
	{ "fill", fill, false },
	{ "move", move, false },
	{ "read_watched", read_watched, false },
	{ "read_unwatched", read_unwatched, false },
	{ "write_unwatched", write_unwatched, false },
	{ "getppid", ask_parent, false },
};

static volatile int over;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The longest time that went by unseen. */
static void *watch_clock(void *ret)
{
	uint64_t longest = 0, last = now();

	while (!over) {
		uint64_t t = now();

		if (t - last > longest)
			longest = t - last;
		last = t;
	}
	*(uint64_t *)ret = longest;
	return NULL;
}

static void *sleeper(void *unused)
{
	for (;;)
		pause();
	return NULL;
}

static int spin(unsigned long threads)
{
	pthread_t first, other;
	uint64_t longest;
	char byte;

	if (pthread_create(&first, NULL, watch_clock, &longest))
		return 1;
	/* The main thread sleeps, too. */
	for (unsigned long i = 2; i < threads; i++)
		if (pthread_create(&other, NULL, sleeper, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	over = 1;
	pthread_join(first, NULL);
	printf("%.6f\n", (double)longest / 1e6);
	return 0;
}

static int measure(void (*run)(unsigned long rounds), unsigned long rounds)
{
	uint64_t start = now();

	run(rounds);
	printf("%.3f\n", (double)(now() - start) / (double)rounds);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (rounds && strcmp(argv[1], "spin") == 0)
		return spin(rounds);
	zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	source = mmap(NULL, LARGE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (zeros < 0 || sink < 0 || source == MAP_FAILED ||
	    madvise(large, LARGE_SIZE, MADV_POPULATE_WRITE))
		return 1;
	for (size_t i = 0; rounds && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		if (kinds[i].avx && !__builtin_cpu_supports("avx"))
			return NO_SUCH_PROCESSOR;
		return measure(kinds[i].run, rounds);
	}
	fprintf(stderr, "usage: loop KIND ROUNDS\n");
	return 2;
}
