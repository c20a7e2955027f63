/* SPDX-License-Identifier: Apache-2.0 */
/* watch: bounce:data */
/* options: --on read */
/* Eight megabytes written from watched memory in one call, through a pipe. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { SIZE = 8 << 20 };

static unsigned char data[SIZE];

static int consume(int fd)
{
	static unsigned char copy[SIZE];
	size_t used = 0;
	ssize_t n;

	while ((n = read(fd, copy + used, SIZE - used)) > 0)
		used += n;
	printf("%zu %016lx\n", used, hash(copy, used));
	fflush(stdout);
	return 0;
}

/* Random enough, and cheap: the file is read in, not stored byte by byte. */
static void fill(void)
{
	static unsigned char block[65536];
	uint64_t seed = 1;
	int fds[2];

	expect(pipe(fds) == 0);
	for (size_t at = 0; at < SIZE; at += sizeof(block)) {
		for (size_t i = 0; i < sizeof(block); i++) {
			seed = seed * 6364136223846793005u + 1;
			block[i] = seed >> 56;
		}
		expect(write(fds[1], block, sizeof(block)) == sizeof(block));
		expect(read(fds[0], data + at, sizeof(block)) == sizeof(block));
	}
}

int main(void)
{
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	fill();
	expect(pipe(fds) == 0);
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		_exit(consume(fds[0]));
	}
	close(fds[0]);
	n = write(fds[1], data, SIZE);
	close(fds[1]);
	expect(waitpid(pid, &status, 0) == pid);
	printf("%zd %d\n", n, status);
	return 0;
}
