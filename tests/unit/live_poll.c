/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/unit/live.h"

static void *pollfds(struct scene *s)
{
	struct pollfd fds[2];
	int ends[2];

	scene_pipe(ends);
	fds[0] = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = ends[1], .events = POLLIN };

	return scene_data(s, fds, sizeof(fds));
}

static void set_poll(struct scene *s)
{
	SCENE_CALL(s, SYS_poll, P(pollfds(s)), 2, 0);
}

static void set_ppoll(struct scene *s)
{
	struct timespec limit = { 5, 0 };
	uint64_t mask = 0x1000;

	SCENE_CALL(s, SYS_ppoll, P(pollfds(s)), 2,
		   P(scene_data(s, &limit, sizeof(limit))),
		   P(scene_data(s, &mask, 8)), 8);
}

static void *one_set(struct scene *s, int fd)
{
	uint64_t set = UINT64_C(1) << fd;

	return scene_data(s, &set, sizeof(set));
}

static void set_select(struct scene *s)
{
	struct timeval limit = { 5, 0 };
	int fds[2];

	scene_pipe(fds);
	SCENE_CALL(s, SYS_select, fds[1] + 1, P(one_set(s, fds[0])),
		   P(one_set(s, fds[1])), P(one_set(s, fds[0])),
		   P(scene_data(s, &limit, sizeof(limit))));
}

static void set_pselect(struct scene *s)
{
	struct timespec limit = { 0, 1000 };
	uint64_t mask = 0x1000, sig[2] = { 0, 8 };
	int fds[2];

	scene_pipe(fds);
	sig[0] = P(scene_data(s, &mask, 8));
	SCENE_CALL(s, SYS_pselect6, fds[1] + 1, P(one_set(s, fds[1])), 0, 0,
		   P(scene_data(s, &limit, sizeof(limit))),
		   P(scene_data(s, sig, sizeof(sig))));
}

static int watched(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 42 };
	int epoll = epoll_create1(0), fds[2];

	scene_pipe(fds);
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event))
		abort();

	return epoll;
}

static void set_epoll_wait(struct scene *s)
{
	SCENE_CALL(s, SYS_epoll_wait, watched(), P(scene_space(s, 48)), 4, 0);
}

static void set_epoll_pwait2(struct scene *s)
{
	struct timespec limit = { 1, 0 };
	uint64_t mask = 0x1000;

	SCENE_CALL(s, SYS_epoll_pwait2, watched(), P(scene_space(s, 48)), 4,
		   P(scene_data(s, &limit, sizeof(limit))),
		   P(scene_data(s, &mask, 8)), 8);
}

static void set_epoll_ctl(struct scene *s)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fds[2];

	scene_pipe(fds);
	SCENE_CALL(s, SYS_epoll_ctl, epoll_create1(0), EPOLL_CTL_ADD, fds[0],
		   P(scene_data(s, &event, sizeof(event))));
}

static const struct live_case rows[] = {
	{ "poll", set_poll, 0 },
	{ "ppoll", set_ppoll, LIVE_CHANGES },
	{ "select", set_select, LIVE_CHANGES },
	{ "pselect6", set_pselect, 0 },
	{ "epoll_wait", set_epoll_wait, 0 },
	{ "epoll_pwait2", set_epoll_pwait2, 0 },
	{ "epoll_ctl", set_epoll_ctl, 0 },
};

const struct live_cases live_poll = { rows, ARRAY_SIZE(rows) };
