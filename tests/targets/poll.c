/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/*
 * Calls with a timeout that the kernel does not restart by itself.  A SIGCHLD
 * that nobody handles arrives meanwhile, and is not seen.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	struct epoll_event events[4];
	struct pollfd poll;
	fd_set set;
	struct timeval time;
} box;

static pid_t child_that_ends_soon(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		usleep(30000);
		_exit(0);
	}
	return pid;
}

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int call(int which, int epoll, int fd)
{
	switch (which) {
	case 0:
		return epoll_wait(epoll, box.events, 4, 100);
	case 1:
		box.poll = (struct pollfd){ .fd = fd, .events = POLLIN };
		return poll(&box.poll, 1, 100);
	default:
		FD_ZERO(&box.set);
		FD_SET(fd, &box.set);
		box.time = (struct timeval){ .tv_usec = 100000 };
		return select(fd + 1, &box.set, NULL, NULL, &box.time);
	}
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 77 };
	int fds[2], epoll = epoll_create1(0);

	expect(pipe(fds) == 0);
	expect(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event) == 0);
	for (int which = 0; which < 3; which++) {
		pid_t pid = child_that_ends_soon();
		int64_t start = now_ms();
		int r = call(which, epoll, fds[0]);

		printf("%d: %d %d %d\n", which, r, r < 0 ? errno : 0,
		       now_ms() - start >= 99);
		expect(waitpid(pid, NULL, 0) == pid);
	}
	expect(write(fds[1], "x", 1) == 1);
	for (int which = 0; which < 3; which++)
		printf("%d: %d\n", which, call(which, epoll, fds[0]));
	printf("%d %d %d\n", (int)box.events[0].data.u64, box.poll.revents,
	       FD_ISSET(fds[0], &box.set) != 0);
	return 0;
}
