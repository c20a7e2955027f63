/* SPDX-License-Identifier: Apache-2.0 */
/* watch: array */
/* args: plain */
/* args: timer */
/* args: flag */
/* args: jit */
/* args: alias */
/* args: file */
/* args: patched */
/*
 * Loops over an array, so that many accesses follow each other closely; and
 * what must come between them: signals, another thread, code that changes.
 * "until" goes on until its standard input ends.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { WORDS = 512, SHOTS = 20 };

static _Alignas(4096) struct {
	volatile uint64_t word[WORDS];
	volatile double real[WORDS];
	volatile char text[256];
} array;

static uint64_t copy[WORDS];
static volatile sig_atomic_t shots;

static void fill(uint64_t seed)
{
	for (int i = 0; i < WORDS; i++)
		array.word[i] = seed += UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t sum(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < WORDS; i++)
		sum = sum * 31 + array.word[i];
	return sum;
}

static void sort(int n)
{
	for (int i = 1; i < n; i++) {
		uint64_t value = array.word[i];
		int k = i;

		for (; k > 0 && array.word[k - 1] > value; k--)
			array.word[k] = array.word[k - 1];
		array.word[k] = value;
	}
}

static double reals(void)
{
	double sum = 0;

	for (int i = 0; i < WORDS; i++)
		array.real[i] = i / 3.0;
	for (int i = 0; i < WORDS; i++)
		sum = sum * 0.5 + array.real[i];
	return sum;
}

/* What the C library makes of it: vectors, and string instructions. */
static size_t texts(void)
{
	char *text = (char *)array.text;

	memset(text, 'a', 200);
	text[200] = '\0';
	memmove(text + 3, text, 190);
	text[77] = 'b';
	return strlen(text) + (size_t)(strchr(text, 'b') - text);
}

/* Each other access is to memory that is not watched. */
static uint64_t copied(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < WORDS; i++)
		copy[i] = array.word[i] ^ copy[(i + 1) % WORDS];
	for (int i = 0; i < WORDS; i++)
		sum += copy[i] * (unsigned)i;
	return sum;
}

static void plain(void)
{
	fill(1);
	printf("%016lx\n", copied());
	sort(64);
	printf("%016lx %.9f %zu\n", sum(), reals(), texts());
}

static void on_alarm(int sig)
{
	shots++;
	array.word[0]++;
}

/* Each shot comes while the loop runs, and none is lost. */
static void timer(void)
{
	struct itimerval each = { { 0, 10000 }, { 0, 10000 } };
	uint64_t rounds = 0, wrong = 0;

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &each, NULL);
	while (shots < SHOTS) {
		array.word[1] = rounds;
		wrong += array.word[1] != rounds;
		rounds++;
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	expect(array.word[0] == (uint64_t)shots && !wrong && rounds > 0);
	puts("all shots came");
}

static void *set_flag(void *unused)
{
	usleep(20000);
	array.word[3] = 42;
	array.word[2] = 1;
	return NULL;
}

/* One waits for the other in watched memory, without a call. */
static void flag(void)
{
	pthread_t thread;

	expect(pthread_create(&thread, NULL, set_flag, NULL) == 0);
	while (!array.word[2])
		;
	expect(array.word[3] == 42);
	pthread_join(thread, NULL);
	puts("seen");
}

/* mov $value, %eax; mov %eax, (%rdi); ret */
static const unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0x89, 0x07, 0xc3 };

/* Code that is written anew before each call, in memory that may be both. */
static void jit(void)
{
	unsigned char *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t total = 0;

	expect(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	for (uint32_t i = 0; i < 500; i++) {
		memcpy(page + 1, &i, sizeof(i));
		((void (*)(volatile uint64_t *))(uintptr_t)page)(
			&array.word[i]);
		total += array.word[i];
	}
	printf("%lu\n", total);
}

/* The same, not writable, of a file that changes by another way. */
static void from_file(int writes)
{
	int fd = memfd_create("code", 0);
	unsigned char bytes[sizeof(code)], *alias, *page;
	uint64_t total = 0;

	expect(fd >= 0 && ftruncate(fd, 4096) == 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	alias = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	expect(page != MAP_FAILED && alias != MAP_FAILED);
	memcpy(bytes, code, sizeof(code));
	for (uint32_t i = 0; i < 500; i++) {
		memcpy(bytes + 1, &i, sizeof(i));
		if (writes)
			expect(pwrite(fd, bytes, sizeof(bytes), 0) ==
			       sizeof(bytes));
		else
			memcpy(alias, bytes, sizeof(bytes));
		array.word[(i + 1) % WORDS]++;
		((void (*)(volatile uint64_t *))(uintptr_t)page)(
			&array.word[i]);
		total += array.word[i];
	}
	printf("%lu\n", total);
}

static void alias(void)
{
	from_file(0);
}

static void file(void)
{
	from_file(1);
}

static __attribute__((__noinline__, __aligned__(64))) uint64_t answer(void)
{
	array.word[5]++;
	return 1;
}

/* Code of a file that was made writable, changed, and closed again. */
static void patched(void)
{
	uint64_t at = (uint64_t)(uintptr_t)answer & ~UINT64_C(4095), total = 0;
	unsigned char *text = (unsigned char *)(uintptr_t)answer;
	size_t i = 0;

	while (memcmp(text + i, "\xb8\x01\x00\x00\x00", 5) != 0)
		expect(++i < 64);
	for (unsigned char k = 1; k < 20; k++) {
		expect(!mprotect((void *)(uintptr_t)at, 8192,
				 PROT_READ | PROT_WRITE | PROT_EXEC));
		text[i + 1] = k;
		expect(!mprotect((void *)(uintptr_t)at, 8192,
				 PROT_READ | PROT_EXEC));
		for (int n = 0; n < 50; n++)
			total += answer();
	}
	printf("%lu\n", total);
}

static void until(void)
{
	uint64_t rounds = 0, wrong = 0, right;
	char byte;

	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	fill(7);
	right = sum();
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) != 0) {
		for (int i = 0; i < 20; i++) {
			fill(7);
			wrong += sum() != right;
			rounds++;
		}
	}
	printf("%s, %lu wrong\n", rounds ? "done" : "none", wrong);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "plain", plain },	{ "timer", timer }, { "flag", flag },
		{ "jit", jit },		{ "alias", alias }, { "file", file },
		{ "patched", patched }, { "until", until },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].run();
			return 0;
		}
	return 2;
}
