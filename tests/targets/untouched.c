/* SPDX-License-Identifier: Apache-2.0 */
/* watch: hole */
/*
 * Watched pages that nobody has touched yet: they must still be missing, which
 * mincore(2) tells, until the program touches the first of them.
 */
#include <sys/mman.h>

#include "tests/targets/target.h"

enum { PAGE = 4096, PAGES = 8 };

static _Alignas(PAGE) volatile char hole[PAGES][PAGE];

static int there(void)
{
	unsigned char pages[PAGES];
	int count = 0;

	expect(mincore((void *)hole, sizeof(hole), pages) == 0);
	for (int i = 0; i < PAGES; i++)
		count += pages[i] & 1;
	return count;
}

int main(void)
{
	printf("%d there\n", there());
	hole[2][7] = 1;
	hole[5][0]++;
	printf("%d\n", hole[2][7] + hole[5][0]);
	return 0;
}
