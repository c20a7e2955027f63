/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* process_vm_readv(2) and process_vm_writev(2) of the program's own memory. */
#include <sys/uio.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	char text[64];
	long number;
} box;

int main(void)
{
	char copy[64] = "";
	struct iovec here = { copy, 12 }, there = { box.text, 12 };

	strcpy(box.text, "hello, world");
	expect(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 12);
	memcpy(copy, "HELLO", 5);
	expect(process_vm_writev(getpid(), &here, 1, &there, 1, 0) == 12);
	box.number++;
	printf("%s %s %ld\n", copy, box.text, box.number);
	return 0;
}
