/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>
#include <time.h>

#include "tests/unit/live.h"

static void set_fionread(struct scene *s)
{
	int fds[2];

	scene_pipe(fds);
	SCENE_CALL(s, SYS_ioctl, fds[0], FIONREAD, P(scene_space(s, 4)));
}

static void set_fionbio(struct scene *s)
{
	int fds[2], on = 1;

	scene_pipe(fds);
	SCENE_CALL(s, SYS_ioctl, fds[0], FIONBIO,
		   P(scene_data(s, &on, sizeof(on))));
}

static void set_window(struct scene *s)
{
	SCENE_CALL(s, SYS_ioctl, open("/dev/ptmx", O_RDWR), TIOCGWINSZ,
		   P(scene_space(s, 8)));
}

static void set_terminal(struct scene *s)
{
	SCENE_CALL(s, SYS_ioctl, open("/dev/ptmx", O_RDWR), TCGETS,
		   P(scene_space(s, 36)));
}

static void set_pty_number(struct scene *s)
{
	SCENE_CALL(s, SYS_ioctl, open("/dev/ptmx", O_RDWR), TIOCGPTN,
		   P(scene_space(s, 4)));
}

static void set_getlk(struct scene *s)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 5 };

	SCENE_CALL(s, SYS_fcntl, scene_file(), F_GETLK,
		   P(scene_data(s, &lock, sizeof(lock))));
}

static void set_ofd_getlk(struct scene *s)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 5 };
	int fd = scene_file();

	if (fcntl(fd, F_SETLK, &lock))
		abort();
	SCENE_CALL(s, SYS_fcntl, fd, F_OFD_GETLK,
		   P(scene_data(s, &lock, sizeof(lock))));
}

static void set_setlk(struct scene *s)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 5 };

	SCENE_CALL(s, SYS_fcntl, scene_file(), F_SETLK,
		   P(scene_data(s, &lock, sizeof(lock))));
}

static void set_owner(struct scene *s)
{
	SCENE_CALL(s, SYS_fcntl, scene_file(), F_GETOWN_EX,
		   P(scene_space(s, 8)));
}

static void set_fsetxattr(struct scene *s)
{
	SCENE_CALL(s, SYS_fsetxattr, scene_file(),
		   P(scene_text(s, "trusted.x")), P(scene_text(s, "value")), 5,
		   0);
}

static int with_attribute(void)
{
	int fd = scene_file();

	if (fsetxattr(fd, "trusted.x", "value", 5, 0))
		return -1;

	return fd;
}

static void set_fgetxattr(struct scene *s)
{
	SCENE_CALL(s, SYS_fgetxattr, with_attribute(),
		   P(scene_text(s, "trusted.x")), P(scene_space(s, 32)), 32);
}

static void set_flistxattr(struct scene *s)
{
	SCENE_CALL(s, SYS_flistxattr, with_attribute(), P(scene_space(s, 64)),
		   64);
}

static void set_utimensat(struct scene *s)
{
	struct timespec times[2] = { { 1, 2 }, { 3, 4 } };

	SCENE_CALL(s, SYS_utimensat, scene_file(), 0,
		   P(scene_data(s, times, sizeof(times))), 0);
}

static void set_timerfd(struct scene *s)
{
	struct itimerspec when = { { 0, 0 }, { 1000, 0 } };

	SCENE_CALL(s, SYS_timerfd_settime, timerfd_create(CLOCK_MONOTONIC, 0),
		   0, P(scene_data(s, &when, sizeof(when))),
		   P(scene_space(s, 32)));
}

static void set_timerfd_get(struct scene *s)
{
	SCENE_CALL(s, SYS_timerfd_gettime, timerfd_create(CLOCK_MONOTONIC, 0),
		   P(scene_space(s, 32)));
}

static void set_inotify(struct scene *s)
{
	int fd = inotify_init();

	if (inotify_add_watch(fd, "/dev/null", IN_OPEN) < 0 ||
	    open("/dev/null", O_RDONLY) < 0)
		abort();
	SCENE_CALL(s, SYS_read, fd, P(scene_space(s, 256)), 256);
}

static void set_inotify_add(struct scene *s)
{
	SCENE_CALL(s, SYS_inotify_add_watch, inotify_init(),
		   P(scene_text(s, "/dev/null")), IN_OPEN);
}

static void set_handle(struct scene *s)
{
	uint32_t handle[34] = { 128 };

	SCENE_CALL(s, SYS_name_to_handle_at, AT_FDCWD,
		   P(scene_text(s, "/dev/shm")),
		   P(scene_data(s, handle, sizeof(handle))),
		   P(scene_space(s, 4)), 0);
}

static const struct live_case rows[] = {
	{ "FIONREAD", set_fionread, 0 },
	{ "FIONBIO", set_fionbio, 0 },
	{ "TIOCGWINSZ", set_window, 0 },
	{ "TCGETS", set_terminal, 0 },
	{ "TIOCGPTN", set_pty_number, LIVE_CHANGES },
	{ "F_GETLK", set_getlk, 0 },
	{ "F_OFD_GETLK", set_ofd_getlk, LIVE_CHANGES },
	{ "F_SETLK", set_setlk, 0 },
	{ "F_GETOWN_EX", set_owner, 0 },
	{ "fsetxattr", set_fsetxattr, LIVE_MAY_FAIL },
	{ "fgetxattr", set_fgetxattr, LIVE_MAY_FAIL },
	{ "flistxattr", set_flistxattr, LIVE_MAY_FAIL },
	{ "utimensat", set_utimensat, 0 },
	{ "timerfd_settime", set_timerfd, 0 },
	{ "timerfd_gettime", set_timerfd_get, 0 },
	{ "inotify", set_inotify, 0 },
	{ "inotify_add_watch", set_inotify_add, 0 },
	{ "name_to_handle_at", set_handle, LIVE_MAY_FAIL },
};

const struct live_cases live_control = { rows, ARRAY_SIZE(rows) };
