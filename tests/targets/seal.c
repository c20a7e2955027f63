/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* Sealed pages keep the rights that they have: those of the program. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { NUMBER_MSEAL = 462, PAGE = 4096 };

static volatile char box[2 * PAGE] __attribute__((aligned(4096)));

int main(void)
{
	box[0] = 1;
	/* Where the kernel has it; without, nothing is sealed. */
	(void)syscall(NUMBER_MSEAL, box, (size_t)PAGE, 0UL);
	for (int i = 0; i < 2 * PAGE; i += 512)
		box[i] = (char)(box[i] + i / 512);
	printf("%d %d %d\n", box[0], box[512], box[PAGE]);
	return 0;
}
