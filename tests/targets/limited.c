/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much more a program may map under RLIMIT_DATA, by each call that counts
 * against it.  Without arguments: the kB that it uses.  Else the soft and the
 * hard limit in bytes, and "wait" if it is to wait for a byte before and after.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE = 4096, CHUNK = 16 * PAGE, TRIES = 64, HEAP = 64, BSS = 32 };

static volatile char bss[(BSS + 1) * PAGE] __attribute__((aligned(4096)));
static volatile char *heap;
static char *chunks[TRIES];

static void touch(void)
{
	for (int i = 0; i < HEAP; i++)
		heap[i * PAGE]++;
	for (int i = 0; i < BSS; i++)
		bss[i * PAGE]++;
}

static int sum(void)
{
	int sum = 0;

	for (int i = 0; i < HEAP; i++)
		sum += heap[i * PAGE];
	for (int i = 0; i < BSS; i++)
		sum += bss[i * PAGE];
	return sum;
}

static void show_use(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long use;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmData: %ld", &use) == 1)
			printf("%ld\n", use);
	exit(0);
}

static void *map(size_t size, int prot)
{
	return mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int by_mmap(void)
{
	int count = 0;

	while (count < TRIES) {
		chunks[count] = map(CHUNK, PROT_READ | PROT_WRITE);
		if (chunks[count] == MAP_FAILED)
			break;
		count++;
	}
	printf("mmap %d errno %d\n", count, count < TRIES ? errno : 0);
	for (int i = 0; i < count; i++)
		expect(munmap(chunks[i], CHUNK) == 0);
	return count;
}

/* Over the program's own, watched memory: what was there does not count. */
static void by_fixed(void)
{
	char *at = map(CHUNK, PROT_NONE);
	void *got = mmap((void *)(heap + PAGE * (HEAP / 2)), 4 * PAGE,
			 PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	expect(at != MAP_FAILED);
	printf("fixed %d", got != MAP_FAILED);
	got = mmap(at, CHUNK, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	printf(" %d errno %d\n", got != MAP_FAILED,
	       got == MAP_FAILED ? errno : 0);
	expect(munmap(at, CHUNK) == 0);
}

static void by_brk(void)
{
	int count = 0;

	while (count < TRIES && sbrk(CHUNK) != (void *)-1)
		count++;
	printf("brk %d\n", count);
	expect(sbrk(-CHUNK * count) != (void *)-1);
}

static void by_mprotect(void)
{
	char *memory = map(TRIES * CHUNK, PROT_READ);
	void *last = (void *)(bss + BSS * PAGE);
	int count = 0;

	expect(memory != MAP_FAILED);
	while (count < TRIES && mprotect(memory + count * CHUNK, CHUNK,
					 PROT_READ | PROT_WRITE) == 0)
		count++;
	printf("mprotect %d\n", count);
	expect(munmap(memory, TRIES * CHUNK) == 0);
	/* rights that watched memory has, taken and given back */
	expect(mprotect(last, PAGE, PROT_READ) == 0);
	printf("back %d\n", mprotect(last, PAGE, PROT_READ | PROT_WRITE) == 0);
}

static void by_mremap(void)
{
	char *memory = map(CHUNK, PROT_READ | PROT_WRITE);
	int count = 0;

	if (memory == MAP_FAILED) {
		puts("nothing to mremap");
		return;
	}
	while (count < TRIES) {
		void *moved =
			mremap(memory, (size_t)(count + 1) * CHUNK,
			       (size_t)(count + 2) * CHUNK, MREMAP_MAYMOVE);

		if (moved == MAP_FAILED)
			break;
		memory = moved;
		count++;
	}
	printf("mremap %d\n", count);
}

int main(int argc, char **argv)
{
	static char buffer[BUFSIZ];
	struct rlimit limit;
	char byte;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	heap = sbrk(HEAP * PAGE);
	expect(heap != (void *)-1);
	touch();
	if (argc < 3)
		show_use();
	limit.rlim_cur = strtoul(argv[1], NULL, 0);
	limit.rlim_max = strtoul(argv[2], NULL, 0);
	expect(setrlimit(RLIMIT_DATA, &limit) == 0);
	if (argc > 3) {
		expect(write(STDERR_FILENO, "ready\n", 6) == 6);
		expect(read(STDIN_FILENO, &byte, 1) == 1);
	}
	touch();
	by_mmap();
	by_fixed();
	by_brk();
	by_mprotect();
	by_mremap();
	if (heap[PAGE * (HEAP / 2)] != 0)
		touch();
	expect(getrlimit(RLIMIT_DATA, &limit) == 0);
	printf("limit %lu %lu\n", (unsigned long)limit.rlim_cur,
	       (unsigned long)limit.rlim_max);
	expect(getrlimit(RLIMIT_AS, &limit) == 0);
	printf("address space %lu\nsum %d\n", (unsigned long)limit.rlim_cur,
	       sum());
	if (argc > 3) {
		expect(write(STDERR_FILENO, "done\n", 5) == 5);
		expect(read(STDIN_FILENO, &byte, 1) == 1);
	}
	touch();
	printf("sum %d\n", sum());
	return 0;
}
