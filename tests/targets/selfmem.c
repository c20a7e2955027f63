/* SPDX-License-Identifier: Apache-2.0 */
/* watch: watched */
/*
 * Code that is mapped from a file, and read-only, is rewritten through
 * /proc/self/mem between its runs.
 */
#include <fcntl.h>
#include <unistd.h>

#include "tests/targets/target.h"

static volatile long watched;

/* Its last byte is the number. */
extern unsigned char add[], add_end[];
__asm__(".text\n"
	".globl add, add_end\n"
	"add: addq $1, watched(%rip)\n"
	"add_end: ret\n");

int main(void)
{
	int fd = open("/proc/self/mem", O_RDWR);

	expect(fd >= 0);
	for (int i = 1; i <= 20; i++) {
		unsigned char byte = (unsigned char)i;

		expect(pwrite(fd, &byte, 1, (off_t)(uintptr_t)add_end - 1) ==
		       1);
		((void (*)(void))(uintptr_t)add)();
	}
	printf("%ld\n", watched);
	return 0;
}
