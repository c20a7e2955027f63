/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread forbids itself, by a filter of its own, the calls that a tracer
 * makes in it; so does the child that it forks.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { ROUNDS = 400 };

static volatile long watched[512];

static void forbid(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter),
				      filter };

	expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void *work(void *unused)
{
	int status = 0;
	pid_t child;

	forbid();
	for (int i = 0; i < ROUNDS; i++) {
		watched[0]++;
		if (i % 40 == 0) {
			child = fork();
			if (child == 0)
				_exit((int)watched[0] == i + 1 ? 3 : 4);
			expect(waitpid(child, &status, 0) == child);
			expect(WIFEXITED(status) && WEXITSTATUS(status) == 3);
		}
		usleep(1000);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	printf("%ld\n", watched[0]);
	return 0;
}
