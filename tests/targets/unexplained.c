/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/*
 * Another process writes into ours: a word that we read afterwards, one that
 * we write, and one that nobody looks at again.
 */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE_SIZE = 4096, TURNS = 200 };

static _Alignas(PAGE_SIZE) volatile int box[PAGE_SIZE / 4];

static void put(int mem, int place, int value)
{
	off_t at = (off_t)(uintptr_t)&box[place];

	expect(pwrite(mem, &value, sizeof(value), at) == sizeof(value));
}

static void write_into_parent(void)
{
	char path[32];
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
	mem = open(path, O_RDWR);
	if (mem < 0) {
		puts("not permitted");
		exit(77);
	}
	put(mem, 1, 0x11111111);
	put(mem, 2, 0x22222222);
	put(mem, 900, 0x33333333);
	_exit(0);
}

/* Nothing but what is seen. */
static void touch(void)
{
	int fds[2];

	expect(pipe(fds) == 0);
	for (int i = 0; i < TURNS; i++) {
		box[100]++;
		memset((void *)&box[101], i, 200);
		expect(write(fds[1], (void *)&box[100], 300) == 300);
		expect(read(fds[0], (void *)&box[300], 300) == 300);
		box[301] += box[300];
		memcpy((void *)&box[400], (void *)&box[300], 300);
	}
}

int main(void)
{
	int status;
	pid_t pid;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	box[0] = 1;
	touch();
	pid = fork();
	if (pid == 0)
		write_into_parent();
	expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status))
		return WEXITSTATUS(status);
	touch();
	printf("%x\n", box[1]);
	box[2] = 2;
	printf("%x\n", box[2]);
	return 0;
}
