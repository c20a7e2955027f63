/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:heap */
/* options: --every */
/* The heap's end moves down and up again: the same addresses, other pages. */
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGES = 4, PAGE = 4096 };

int main(void)
{
	volatile long *heap;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (int round = 1; round <= 3; round++) {
		heap = sbrk(PAGES * PAGE);
		expect(heap != (void *)-1);
		for (int i = 0; i < PAGES; i++) {
			expect(heap[i * PAGE / 8] == 0);
			heap[i * PAGE / 8] = 1000 * round + i;
		}
		expect(sbrk(-PAGES * PAGE) != (void *)-1);
	}
	printf("done\n");
	return 0;
}
