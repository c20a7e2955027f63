/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:heap */
/* options: --first */
/*
 * Pages that are touched again after the map changed: the watch is armed anew
 * then, and the rights of pages that were seen change, too.
 */
#include <sys/mman.h>

#include "tests/targets/target.h"

enum { PAGES = 6, PAGE = 4096 };

static void touch(volatile char *pages, char value)
{
	for (int i = 0; i < PAGES; i++)
		pages[i * PAGE] = value;
}

int main(void)
{
	char *pages = aligned_alloc(PAGE, PAGES * PAGE);
	char *more;

	touch(pages, 1);
	more = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(more != MAP_FAILED);
	touch(pages, 2);
	expect(mprotect(pages, 2 * PAGE, PROT_READ) == 0);
	expect(mprotect(pages, 2 * PAGE, PROT_READ | PROT_WRITE) == 0);
	expect(mlock(pages, PAGES * PAGE) == 0);
	touch(pages, 3);
	printf("%016lx\n", (unsigned long)hash(pages, PAGES * PAGE));
	return 0;
}
