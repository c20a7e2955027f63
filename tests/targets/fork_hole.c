/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:anon */
/* options: --sample=50 */
/*
 * Memory in the middle of what is closed is unmapped, then the program forks:
 * the child finds what lies behind the hole open.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE = 4096, ROUNDS = 20 };

int main(void)
{
	int right = 0;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int status = 0;
		pid_t child;

		expect(p != MAP_FAILED);
		p[2 * PAGE] = 7;
		usleep(30000);
		p[0] = 1;
		munmap(p + PAGE, PAGE);
		child = fork();
		if (child == 0)
			_exit(p[2 * PAGE]);
		expect(waitpid(child, &status, 0) == child);
		right += WIFEXITED(status) && WEXITSTATUS(status) == 7;
		munmap(p, 3 * PAGE);
	}
	printf("%d of %d\n", right, ROUNDS);
	return 0;
}
