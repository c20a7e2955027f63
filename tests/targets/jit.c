/* SPDX-License-Identifier: Apache-2.0 */
/* watch: place */
/*
 * Code that is made at run time, with frame pointers, and named in a file for
 * perf(1): a function that is called touches what is watched, then it is moved
 * and called again by another name.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { SIZE = 64 };

volatile long place;

static uint8_t *emit(uint8_t *to, const void *bytes, size_t size)
{
	memcpy(to, bytes, size);
	return to + size;
}

/* push rbp; mov rbp, rsp; mov rax, &place; inc qword [rax]; pop rbp; ret */
static void compile(uint8_t *to)
{
	const volatile long *address = &place;

	to = emit(to, "\x55\x48\x89\xe5\x48\xb8", 6);
	to = emit(to, &address, sizeof(address));
	emit(to, "\x48\xff\x00\x5d\xc3", 5);
}

/*
 * push rbp; mov rbp, rsp; call leaf; pop rbp; ret; and the leaf, which makes no
 * frame: mov rax, &place; inc qword [rax]; ret
 */
static void compile_leaf(uint8_t *to, uint8_t *leaf)
{
	const volatile long *address = &place;
	int32_t distance = (int32_t)(leaf - (to + 9));

	to = emit(to, "\x55\x48\x89\xe5\xe8", 5);
	to = emit(to, &distance, sizeof(distance));
	emit(to, "\x5d\xc3", 2);
	leaf = emit(leaf, "\x48\xb8", 2);
	leaf = emit(leaf, &address, sizeof(address));
	emit(leaf, "\x48\xff\x00\xc3", 4);
}

static void name(const char *how, const void *code, const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, how);
	expect(file != NULL);
	fprintf(file, "%jx %x %s\n", (uintmax_t)(uintptr_t)code, SIZE, text);
	fclose(file);
}

static __attribute__((noinline)) void call(const void *code)
{
	void (*function)(void);

	memcpy(&function, &code, sizeof(function));
	function();
}

int main(void)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];

	expect(code != MAP_FAILED);
	compile(code);
	compile(code + SIZE);
	name("w", code, "Shop.order(int)");
	call(code);
	name("a", code + SIZE, "Shop.order(int) v2");
	usleep(200000);
	call(code + SIZE);
	compile_leaf(code + 2 * SIZE, code + 3 * SIZE);
	name("a", code + 2 * SIZE, "Shop.total()");
	name("a", code + 3 * SIZE, "Shop.leaf()");
	usleep(200000);
	call(code + 2 * SIZE);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	printf("%ld\n", place);
	return 0;
}
