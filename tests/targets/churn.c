/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:heap */
/*
 * Memory that comes, grows, moves, changes its rights and goes: by the
 * allocator and by hand.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE = 4096 };

static uint64_t growth(void)
{
	size_t size = 16, used = 0;
	unsigned char *data = malloc(size);
	uint64_t h;

	while (used < 400000) {
		if (used == size) {
			size = size * 3 / 2;
			data = realloc(data, size);
			expect(data);
		}
		data[used] = (unsigned char)(used * 31);
		used += used % 64 == 63 ? 1 + used % 3 : 1;
		if (used > size)
			used = size;
	}
	memset(data, 0x5a, size / 2);
	h = hash(data, size / 2);
	free(data);
	return h;
}

static uint64_t moves(void)
{
	size_t size = 4 * PAGE;
	uint64_t h = 0;

	for (int i = 0; i < 20; i++) {
		char *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memset(area, i, size);
		area = mremap(area, size, 16 * PAGE, MREMAP_MAYMOVE);
		expect(area != MAP_FAILED);
		expect(mprotect(area, PAGE, PROT_READ) == 0);
		h = h * 31 + hash(area, 16 * PAGE);
		expect(munmap(area + PAGE, PAGE) == 0);
		h += area[2 * PAGE];
		expect(madvise(area + 2 * PAGE, PAGE, MADV_DONTNEED) == 0);
		h += area[2 * PAGE];
		expect(munmap(area, 16 * PAGE) == 0);
	}
	return h;
}

static uint64_t breaks(void)
{
	uint64_t h = 0;

	for (int i = 1; i < 20; i++) {
		char *start = sbrk(i * PAGE);

		expect(start != (void *)-1);
		memset(start, i, i * PAGE);
		h = h * 31 + hash(start, i * PAGE);
		expect(sbrk(-i * PAGE) != (void *)-1);
	}
	return h;
}

int main(void)
{
	void *blocks[100] = { 0 };

	for (int i = 0; i < 2000; i++) {
		int at = i * 37 % 100;

		free(blocks[at]);
		blocks[at] = calloc(1, 16 + i * 7 % 3000);
		expect(blocks[at]);
		memset(blocks[at], i, 16);
	}
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
	printf("%016lx %016lx %016lx\n", growth(), moves(), breaks());
	return 0;
}
