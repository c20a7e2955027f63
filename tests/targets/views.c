/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:/dev/zero* */
/* options: --every */
/*
 * Shared memory gets a second view by mremap(2), with the rights of the first.
 * What is written through one of them, by stores and by the kernel, is read
 * through the other.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { SIZE = 8192 };

int main(void)
{
	volatile char *first = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile char *second;
	int fds[2];

	expect(first != MAP_FAILED);
	first[0] = 1;
	second = mremap((void *)first, 0, SIZE, MREMAP_MAYMOVE);
	expect(second != MAP_FAILED && second != first);
	second[SIZE - 1] = 2;
	second[0]++;
	first[1] = second[0];
	printf("%d %d %d\n", first[0], first[1], first[SIZE - 1]);

	memset((void *)(first + 64), 7, 300);
	expect(pipe(fds) == 0);
	expect(write(fds[1], (void *)(second + 64), 300) == 300);
	expect(read(fds[0], (void *)(second + 1024), 300) == 300);
	for (int i = 0; i < 300; i++)
		first[2048 + i] = first[1024 + i] + second[64 + i];
	printf("%d\n", second[2048] + second[2347]);
	return 0;
}
