/* SPDX-License-Identifier: Apache-2.0 */
/* watch: array */
/*
 * A child, which is not traced, writes to a word of its parent's that is not
 * watched, between two that the parent writes to in a loop over watched ones.
 */
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { WORDS = 512, WRITES = 40 };

static _Alignas(4096) volatile uint64_t array[WORDS];
static _Alignas(4096) volatile uint64_t own[WORDS];

static void write_to(pid_t parent, volatile uint64_t *ended)
{
	struct iovec there = { (void *)(uintptr_t)&own[WORDS / 2], 8 };
	uint64_t lost = 0, seen = 0;
	struct iovec here = { NULL, 8 };

	for (uint64_t i = 1; i <= WRITES; i++) {
		here.iov_base = &i;
		expect(process_vm_writev(parent, &here, 1, &there, 1, 0) == 8);
		usleep(2000);
		here.iov_base = &seen;
		expect(process_vm_readv(parent, &here, 1, &there, 1, 0) == 8);
		lost += seen != i;
	}
	*ended = 1 + lost;
	_exit(0);
}

int main(void)
{
	volatile uint64_t *ended = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid(), child;

	expect(ended != MAP_FAILED);
	own[0] = 1;
	child = fork();
	expect(child >= 0);
	if (child == 0)
		write_to(parent, ended);
	while (!*ended)
		for (unsigned i = 0; i < WORDS; i++) {
			own[0] = i;
			own[WORDS - 1] = array[i];
		}
	expect(waitpid(child, NULL, 0) == child);
	printf("%lu lost\n", *ended - 1);
	return 0;
}
