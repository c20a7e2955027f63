/* SPDX-License-Identifier: Apache-2.0 */
/* watch: words */
/* vfork(2), and an execve(2) whose path and arguments are watched memory. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	char path[16], text[16];
	char *argv[3];
	volatile int in_child;
} words;

int main(void)
{
	int status;
	pid_t pid;

	strcpy(words.path, "/bin/echo");
	strcpy(words.text, "from the child");
	words.argv[0] = words.path;
	words.argv[1] = words.text;
	puts("before");
	fflush(stdout);
	pid = vfork();
	if (pid == 0) {
		words.in_child = 1; /* it is the parent's memory */
		execv(words.path, words.argv);
		_exit(127);
	}
	expect(waitpid(pid, &status, 0) == pid);
	printf("%d %d\n", words.in_child, WEXITSTATUS(status));
	return 0;
}
