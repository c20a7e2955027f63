/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* posix_spawn(3), which is clone(CLONE_VM | CLONE_VFORK), and its output. */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	int fds[2];
	int status;
	char text[64];
} box;

int main(void)
{
	char shell[] = "/bin/sh", option[] = "-c";
	char command[] = "echo spawned; exit 7";
	char *argv[] = { shell, option, command, NULL };
	char *none[] = { NULL };
	posix_spawn_file_actions_t actions;
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	expect(pipe(box.fds) == 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, box.fds[1], 1);
	expect(posix_spawn(&pid, argv[0], &actions, NULL, argv, none) == 0);
	close(box.fds[1]);
	while ((n = read(box.fds[0], box.text + used,
			 sizeof(box.text) - 1 - used)) > 0)
		used += n;
	expect(n == 0);
	expect(waitpid(pid, &box.status, 0) == pid);
	printf("%d %s", WEXITSTATUS(box.status), box.text);
	return 0;
}
