/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tests/unit/live.h"

static void set_read(struct scene *s)
{
	SCENE_CALL(s, SYS_read, scene_file(), P(scene_space(s, 64)), 64);
}

static void set_read_pipe(struct scene *s)
{
	int fds[2];

	scene_pipe(fds);
	SCENE_CALL(s, SYS_read, fds[0], P(scene_space(s, 3)), 3);
}

static void set_read_bad(struct scene *s)
{
	SCENE_CALL(s, SYS_read, 9999, P(scene_space(s, 8)), 8);
}

static void set_read_event(struct scene *s)
{
	SCENE_CALL(s, SYS_read, eventfd(7, 0), P(scene_space(s, 8)), 8);
}

static void set_write(struct scene *s)
{
	SCENE_CALL(s, SYS_write, scene_file(), P(scene_text(s, "abc")), 4);
}

static void set_pread(struct scene *s)
{
	SCENE_CALL(s, SYS_pread64, scene_file(), P(scene_space(s, 32)), 32, 7);
}

static void set_pwrite(struct scene *s)
{
	SCENE_CALL(s, SYS_pwrite64, scene_file(), P(scene_text(s, "abc")), 4,
		   3);
}

static struct iovec *vectors(struct scene *s)
{
	struct iovec iov[3] = {
		{ scene_space(s, 3), 3 },
		{ NULL, 0 },
		{ scene_space(s, 40), 40 },
	};

	return scene_data(s, iov, sizeof(iov));
}

static void set_readv(struct scene *s)
{
	SCENE_CALL(s, SYS_readv, scene_file(), P(vectors(s)), 3);
}

static void set_writev(struct scene *s)
{
	SCENE_CALL(s, SYS_writev, scene_file(), P(vectors(s)), 3);
}

static void set_preadv(struct scene *s)
{
	SCENE_CALL(s, SYS_preadv, scene_file(), P(vectors(s)), 3, 2);
}

static void set_preadv2(struct scene *s)
{
	SCENE_CALL(s, SYS_preadv2, scene_file(), P(vectors(s)), 3, 5);
}

/* The vector is where the data go. */
static void set_readv_itself(struct scene *s)
{
	struct iovec iov = { NULL, 10 };
	struct iovec *at = scene_data(s, &iov, sizeof(iov));

	at->iov_base = at;
	SCENE_CALL(s, SYS_readv, scene_file(), P(at), 1);
}

static void set_process_vm(struct scene *s)
{
	static char source[10] = "abcdefghi";
	struct iovec remote = { source, 10 };

	SCENE_CALL(s, SYS_process_vm_readv, getpid(), P(vectors(s)), 3,
		   P(scene_data(s, &remote, sizeof(remote))), 1);
}

static void set_stat(struct scene *s)
{
	SCENE_CALL(s, SYS_stat, P(scene_text(s, "/etc/passwd")),
		   P(scene_space(s, 144)));
}

static void set_fstat(struct scene *s)
{
	SCENE_CALL(s, SYS_fstat, open("/dev/null", O_RDONLY),
		   P(scene_space(s, 144)));
}

static void set_newfstatat(struct scene *s)
{
	SCENE_CALL(s, SYS_newfstatat, AT_FDCWD, P(scene_text(s, "/etc")),
		   P(scene_space(s, 144)));
}

static void set_stat_missing(struct scene *s)
{
	SCENE_CALL(s, SYS_stat, P(scene_text(s, "/no/such")),
		   P(scene_space(s, 144)));
}

static void set_statx(struct scene *s)
{
	SCENE_CALL(s, SYS_statx, AT_FDCWD, P(scene_text(s, "/etc/passwd")), 0,
		   STATX_BASIC_STATS, P(scene_space(s, 256)));
}

static void set_statfs(struct scene *s)
{
	SCENE_CALL(s, SYS_statfs, P(scene_text(s, "/proc")),
		   P(scene_space(s, 120)));
}

static void set_fstatfs(struct scene *s)
{
	SCENE_CALL(s, SYS_fstatfs, open("/proc", O_RDONLY),
		   P(scene_space(s, 120)));
}

static void set_getdents(struct scene *s)
{
	int fd = open("/proc/self/ns", O_RDONLY | O_DIRECTORY);

	SCENE_CALL(s, SYS_getdents64, fd, P(scene_space(s, 4096)), 4096);
}

static void set_readlink(struct scene *s)
{
	SCENE_CALL(s, SYS_readlink, P(scene_text(s, "/proc/self/exe")),
		   P(scene_space(s, 512)), 512);
}

static void set_readlinkat(struct scene *s)
{
	int fd = open("/proc/self", O_RDONLY | O_DIRECTORY);

	SCENE_CALL(s, SYS_readlinkat, fd, P(scene_text(s, "exe")),
		   P(scene_space(s, 5)), 5);
}

static void set_getcwd(struct scene *s)
{
	SCENE_CALL(s, SYS_getcwd, P(scene_space(s, 1024)), 1024);
}

static void set_open(struct scene *s)
{
	SCENE_CALL(s, SYS_openat, AT_FDCWD, P(scene_text(s, "/dev/null")),
		   O_RDONLY);
}

static void set_memfd(struct scene *s)
{
	SCENE_CALL(s, SYS_memfd_create, P(scene_text(s, "name")), 0);
}

static void set_pipe(struct scene *s)
{
	SCENE_CALL(s, SYS_pipe, P(scene_space(s, 8)));
}

static void set_pipe2(struct scene *s)
{
	SCENE_CALL(s, SYS_pipe2, P(scene_space(s, 8)), O_CLOEXEC);
}

static void set_copy_range(struct scene *s)
{
	int64_t from = 3, to = 0;

	SCENE_CALL(s, SYS_copy_file_range, scene_file(),
		   P(scene_data(s, &from, 8)), scene_file(),
		   P(scene_data(s, &to, 8)), 5, 0);
}

static void set_sendfile(struct scene *s)
{
	int64_t from = 3;
	int fds[2];

	scene_pipe(fds);
	SCENE_CALL(s, SYS_sendfile, fds[1], scene_file(),
		   P(scene_data(s, &from, 8)), 5);
}

static void set_splice(struct scene *s)
{
	int64_t from = 2;
	int fds[2];

	scene_pipe(fds);
	SCENE_CALL(s, SYS_splice, scene_file(), P(scene_data(s, &from, 8)),
		   fds[1], 0, 4, 0);
}

static void set_mincore(struct scene *s)
{
	void *map = mmap(NULL, 5 * 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);

	SCENE_CALL(s, SYS_mincore, P(map), 4 * 4096 + 1, P(scene_space(s, 8)));
}

static const struct live_case rows[] = {
	{ "read", set_read, 0 },
	{ "read pipe", set_read_pipe, 0 },
	{ "read bad", set_read_bad, LIVE_FAILS },
	{ "read eventfd", set_read_event, 0 },
	{ "write", set_write, 0 },
	{ "pread64", set_pread, 0 },
	{ "pwrite64", set_pwrite, 0 },
	{ "readv", set_readv, 0 },
	{ "writev", set_writev, 0 },
	{ "preadv", set_preadv, 0 },
	{ "preadv2", set_preadv2, 0 },
	{ "readv into itself", set_readv_itself, 0 },
	{ "process_vm_readv", set_process_vm, 0 },
	{ "stat", set_stat, 0 },
	{ "fstat", set_fstat, LIVE_CHANGES },
	{ "newfstatat", set_newfstatat, 0 },
	{ "stat missing", set_stat_missing, LIVE_FAILS },
	{ "statx", set_statx, 0 },
	{ "statfs", set_statfs, 0 },
	{ "fstatfs", set_fstatfs, 0 },
	{ "getdents64", set_getdents, LIVE_CHANGES | LIVE_HOLES },
	{ "readlink", set_readlink, 0 },
	{ "readlinkat", set_readlinkat, 0 },
	{ "getcwd", set_getcwd, 0 },
	{ "openat", set_open, 0 },
	{ "memfd_create", set_memfd, 0 },
	{ "pipe", set_pipe, 0 },
	{ "pipe2", set_pipe2, 0 },
	{ "copy_file_range", set_copy_range, 0 },
	{ "sendfile", set_sendfile, 0 },
	{ "splice", set_splice, 0 },
	{ "mincore", set_mincore, 0 },
};

const struct live_cases live_files = { rows, ARRAY_SIZE(rows) };
