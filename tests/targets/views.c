/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:/dev/zero* */
/* options: --every */
/* Shared memory gets a second view by mremap(2), with the rights of the first.
 */
#include <sys/mman.h>

#include "tests/targets/target.h"

enum { SIZE = 8192 };

int main(void)
{
	volatile char *first = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile char *second;

	expect(first != MAP_FAILED);
	first[0] = 1;
	second = mremap((void *)first, 0, SIZE, MREMAP_MAYMOVE);
	expect(second != MAP_FAILED && second != first);
	second[SIZE - 1] = 2;
	second[0]++;
	first[1] = second[0];
	printf("%d %d %d\n", first[0], first[1], first[SIZE - 1]);
	return 0;
}
