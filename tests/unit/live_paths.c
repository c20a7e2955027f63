/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/unit/live.h"

static char directory[] = "/tmp/cls-live-XXXXXX";

static void remove_directory(int id)
{
	static const char *const names[] = { "a", "b", "d" };
	size_t i;

	if (chdir(directory))
		return;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		unlink(names[i]);
		rmdir(names[i]);
	}
	rmdir(directory);
}

/* The working directory is a new one, with a file "a" and a directory "d". */
static void enter_directory(struct scene *s)
{
	int fd;

	memcpy(strrchr(directory, '-') + 1, "XXXXXX", 6);
	if (!mkdtemp(directory) || chdir(directory) || mkdir("d", 0700))
		abort();
	fd = open("a", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || write(fd, "0123456789", 10) != 10)
		abort();
	fsetxattr(fd, "trusted.x", "value", 5, 0);
	close(fd);
	s->clean = remove_directory;
}

#define AT     AT_FDCWD
#define X_NAME P(scene_text(s, "trusted.x"))
#define VALUE  P(scene_text(s, "12345")), 5
#define SPACE  P(scene_space(s, 64)), 64

/* One call in that directory, with the names of what is and is not there. */
#define ON_PATHS(name, number, ...)                                            \
	static void set_##name(struct scene *s)                                \
	{                                                                      \
		uint64_t a = P(scene_text(s, "a")), b = P(scene_text(s, "b")); \
		uint64_t d = P(scene_text(s, "d"));                            \
                                                                               \
		(void)(a | b | d);                                             \
		enter_directory(s);                                            \
		SCENE_CALL(s, number, __VA_ARGS__);                            \
	}

static uint64_t times(struct scene *s)
{
	int64_t pair[4] = { 1000, 2, 3000, 4 };

	return P(scene_data(s, pair, sizeof(pair)));
}

/* struct file_attr, struct mount_attr: all of it 0. */
static uint64_t zeros(struct scene *s, size_t size)
{
	return P(memset(scene_space(s, size), 0, size));
}

static uint64_t xattr_args(struct scene *s, void *value, uint64_t size)
{
	uint64_t args[2] = { P(value), size };

	return P(scene_data(s, args, sizeof(args)));
}

static uint64_t directory_fd(void)
{
	return (uint64_t)open(".", O_RDONLY | O_DIRECTORY);
}

ON_PATHS(open, SYS_open, a, O_RDONLY)
ON_PATHS(open_missing, SYS_open, b, O_RDONLY)
ON_PATHS(creat, SYS_creat, b, 0600)
ON_PATHS(lstat, SYS_lstat, a, P(scene_space(s, 144)))
ON_PATHS(access, SYS_access, a, R_OK)
ON_PATHS(faccessat, SYS_faccessat, AT, a, R_OK)
ON_PATHS(faccessat2, SYS_faccessat2, AT, a, R_OK, 0)
ON_PATHS(truncate, SYS_truncate, a, 3)
ON_PATHS(chdir, SYS_chdir, d)
ON_PATHS(chroot, SYS_chroot, b)
ON_PATHS(rename, SYS_rename, a, b)
ON_PATHS(renameat, SYS_renameat, AT, a, AT, b)
ON_PATHS(renameat2, SYS_renameat2, AT, a, AT, d, 2 /* exchange */)
ON_PATHS(mkdir, SYS_mkdir, b, 0700)
ON_PATHS(mkdirat, SYS_mkdirat, AT, b, 0700)
ON_PATHS(rmdir, SYS_rmdir, d)
ON_PATHS(link, SYS_link, a, b)
ON_PATHS(linkat, SYS_linkat, AT, a, AT, b, 0)
ON_PATHS(unlink, SYS_unlink, a)
ON_PATHS(unlinkat, SYS_unlinkat, AT, d, AT_REMOVEDIR)
ON_PATHS(symlink, SYS_symlink, a, b)
ON_PATHS(symlinkat, SYS_symlinkat, a, AT, b)
ON_PATHS(chmod, SYS_chmod, a, 0640)
ON_PATHS(fchmodat, SYS_fchmodat, AT, a, 0640)
ON_PATHS(fchmodat2, 452, AT, a, 0640, 0)
ON_PATHS(chown, SYS_chown, a, (uint64_t)-1, (uint64_t)-1)
ON_PATHS(lchown, SYS_lchown, a, (uint64_t)-1, (uint64_t)-1)
ON_PATHS(fchownat, SYS_fchownat, AT, a, (uint64_t)-1, (uint64_t)-1, 0)
ON_PATHS(utime, SYS_utime, a, times(s))
ON_PATHS(utimes, SYS_utimes, a, times(s))
ON_PATHS(futimesat, SYS_futimesat, AT, a, times(s))
ON_PATHS(utimensat, SYS_utimensat, AT, a, times(s), 0)
ON_PATHS(mknod, SYS_mknod, b, S_IFIFO | 0600, 0)
ON_PATHS(mknodat, SYS_mknodat, AT, b, S_IFIFO | 0600, 0)
ON_PATHS(uselib, SYS_uselib, b)
ON_PATHS(acct, SYS_acct, b)
ON_PATHS(swapon, SYS_swapon, b, 0)
ON_PATHS(swapoff, SYS_swapoff, b)
ON_PATHS(umount2, SYS_umount2, b, 0)
ON_PATHS(pivot_root, SYS_pivot_root, b, b)
ON_PATHS(open_tree, SYS_open_tree, AT, d, 0)
ON_PATHS(open_tree_attr, 467, AT, d, 0, zeros(s, 32), 32)
ON_PATHS(move_mount, SYS_move_mount, AT, d, AT, b, 0)
ON_PATHS(mount_setattr, SYS_mount_setattr, AT, d, 0, zeros(s, 32), 32)
ON_PATHS(fspick, SYS_fspick, AT, b, 0)
ON_PATHS(fsopen, SYS_fsopen, P(scene_text(s, "tmpfs")), 0)
ON_PATHS(fanotify, SYS_fanotify_mark, syscall(SYS_fanotify_init, 0, 0), 1,
	 0x20 /* open */, AT, a)
ON_PATHS(quotactl, SYS_quotactl, 0x80000700 /* Q_GETQUOTA */, b, 0,
	 P(scene_space(s, 72)))
ON_PATHS(quotactl_fd, SYS_quotactl_fd, directory_fd(), 0x80000700, 0,
	 P(scene_space(s, 72)))
ON_PATHS(setxattr, SYS_setxattr, a, X_NAME, VALUE, 0)
ON_PATHS(lsetxattr, SYS_lsetxattr, a, X_NAME, VALUE, 0)
ON_PATHS(getxattr, SYS_getxattr, a, X_NAME, SPACE)
ON_PATHS(getxattr_short, SYS_getxattr, a, X_NAME, P(scene_space(s, 3)), 3)
ON_PATHS(lgetxattr, SYS_lgetxattr, a, X_NAME, SPACE)
ON_PATHS(listxattr, SYS_listxattr, a, SPACE)
ON_PATHS(llistxattr, SYS_llistxattr, a, SPACE)
ON_PATHS(listxattrat, 465, AT, a, 0, SPACE)
ON_PATHS(getxattrat_path, 464, AT, a, 0, X_NAME,
	 xattr_args(s, scene_space(s, 32), 32), 16)
ON_PATHS(removexattr, SYS_removexattr, a, X_NAME)
ON_PATHS(lremovexattr, SYS_lremovexattr, a, X_NAME)
ON_PATHS(fremovexattr, SYS_fremovexattr, open("a", O_RDWR), X_NAME)
ON_PATHS(removexattrat, 466, AT, a, 0, X_NAME)
ON_PATHS(file_setattr, 469, AT, a, zeros(s, 24), 24, 0)
ON_PATHS(getdents, SYS_getdents, directory_fd(), P(scene_space(s, 512)), 512)
ON_PATHS(getdents_short, SYS_getdents64, directory_fd(), P(scene_space(s, 8)),
	 8)
ON_PATHS(getcwd_short, SYS_getcwd, P(scene_space(s, 4)), 4)
ON_PATHS(readlink_no, SYS_readlink, a, P(scene_space(s, 8)), 8)

/* As LIVE_ROW(): those that need a privilege or what is not everywhere. */
#define RARE(name) LIVE_ROW(name, LIVE_MAY_FAIL)

static const struct live_case rows[] = {
	LIVE_ROW(open, 0),
	LIVE_ROW(open_missing, LIVE_FAILS),
	LIVE_ROW(creat, 0),
	LIVE_ROW(lstat, LIVE_CHANGES),
	LIVE_ROW(access, 0),
	LIVE_ROW(faccessat, 0),
	LIVE_ROW(faccessat2, 0),
	LIVE_ROW(truncate, 0),
	LIVE_ROW(chdir, 0),
	LIVE_ROW(chroot, LIVE_FAILS),
	LIVE_ROW(rename, 0),
	LIVE_ROW(renameat, 0),
	LIVE_ROW(renameat2, 0),
	LIVE_ROW(mkdir, 0),
	LIVE_ROW(mkdirat, 0),
	LIVE_ROW(rmdir, 0),
	LIVE_ROW(link, 0),
	LIVE_ROW(linkat, 0),
	LIVE_ROW(unlink, 0),
	LIVE_ROW(unlinkat, 0),
	LIVE_ROW(symlink, 0),
	LIVE_ROW(symlinkat, 0),
	LIVE_ROW(chmod, 0),
	LIVE_ROW(fchmodat, 0),
	RARE(fchmodat2),
	LIVE_ROW(chown, 0),
	LIVE_ROW(lchown, 0),
	LIVE_ROW(fchownat, 0),
	LIVE_ROW(utime, 0),
	LIVE_ROW(utimes, 0),
	LIVE_ROW(futimesat, 0),
	LIVE_ROW(utimensat, 0),
	LIVE_ROW(mknod, 0),
	LIVE_ROW(mknodat, 0),
	LIVE_ROW(uselib, LIVE_FAILS),
	LIVE_ROW(acct, LIVE_FAILS),
	LIVE_ROW(swapon, LIVE_FAILS),
	LIVE_ROW(swapoff, LIVE_FAILS),
	LIVE_ROW(umount2, LIVE_FAILS),
	LIVE_ROW(pivot_root, LIVE_FAILS),
	RARE(open_tree),
	RARE(open_tree_attr),
	RARE(move_mount),
	RARE(mount_setattr),
	RARE(fspick),
	RARE(fsopen),
	RARE(fanotify),
	RARE(quotactl),
	RARE(quotactl_fd),
	RARE(setxattr),
	RARE(lsetxattr),
	RARE(getxattr),
	RARE(getxattr_short),
	RARE(lgetxattr),
	RARE(listxattr),
	RARE(llistxattr),
	RARE(listxattrat),
	RARE(getxattrat_path),
	RARE(removexattr),
	RARE(lremovexattr),
	RARE(fremovexattr),
	RARE(removexattrat),
	RARE(file_setattr),
	LIVE_ROW(getdents, LIVE_CHANGES | LIVE_HOLES),
	LIVE_ROW(getdents_short, LIVE_FAILS),
	LIVE_ROW(getcwd_short, LIVE_FAILS),
	LIVE_ROW(readlink_no, LIVE_FAILS),
};

const struct live_cases live_paths = { rows, ARRAY_SIZE(rows) };
