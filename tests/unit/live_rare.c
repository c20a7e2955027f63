/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>

#include "tests/unit/live.h"

static void set_statmount(struct scene *s)
{
	/* struct mnt_id_req: its size, a mount, what to tell of it */
	uint64_t request[3] = { 24, 0, 0x7 };
	struct {
		uint8_t other[144];
		uint64_t id;
		uint8_t rest[104];
	} info = { .id = 0 };

	/* STATX_MNT_ID_UNIQUE; stx_mnt_id is at byte 144. */
	if (syscall(SYS_statx, AT_FDCWD, "/", 0, 0x4000, &info) == 0)
		request[1] = info.id;
	SCENE_CALL(s, 457, P(scene_data(s, request, sizeof(request))),
		   P(scene_space(s, 1024)), 1024, 0);
}

static void set_listmount(struct scene *s)
{
	uint64_t request[3] = { 24, UINT64_MAX, 0 };

	SCENE_CALL(s, 458, P(scene_data(s, request, sizeof(request))),
		   P(scene_space(s, 512)), 64, 0);
}

static void set_lsm_list(struct scene *s)
{
	uint32_t size = 128;

	SCENE_CALL(s, 461, P(scene_space(s, 128)), P(scene_data(s, &size, 4)),
		   0);
}

static void set_cachestat(struct scene *s)
{
	uint64_t range[2] = { 0, 0 };

	SCENE_CALL(s, 451, scene_file(), P(scene_data(s, range, 16)),
		   P(scene_space(s, 40)), 0);
}

static void set_file_getattr(struct scene *s)
{
	SCENE_CALL(s, 468, AT_FDCWD, P(scene_text(s, "/")),
		   P(scene_space(s, 24)), 24, 0);
}

static void set_getxattrat(struct scene *s)
{
	uint64_t args[2] = { 0, 32 };
	int fd = scene_file();

	fsetxattr(fd, "trusted.x", "value", 5, 0);
	args[0] = P(scene_space(s, 32));
	SCENE_CALL(s, 464, fd, P(scene_text(s, "")), 0x1000,
		   P(scene_text(s, "trusted.x")), P(scene_data(s, args, 16)),
		   16);
}

static void set_setxattrat(struct scene *s)
{
	uint64_t args[2] = { 0, 5 };

	args[0] = P(scene_text(s, "value"));
	SCENE_CALL(s, 463, scene_file(), P(scene_text(s, "")), 0x1000,
		   P(scene_text(s, "trusted.x")), P(scene_data(s, args, 16)),
		   16);
}

static void set_openat2(struct scene *s)
{
	uint64_t how[3] = { O_RDONLY, 0, 0 };

	SCENE_CALL(s, SYS_openat2, AT_FDCWD, P(scene_text(s, "/dev/null")),
		   P(scene_data(s, how, sizeof(how))), sizeof(how));
}

static void set_landlock(struct scene *s)
{
	uint64_t attr = 1;

	SCENE_CALL(s, SYS_landlock_create_ruleset, P(scene_data(s, &attr, 8)),
		   8, 0);
}

static void set_add_key(struct scene *s)
{
	SCENE_CALL(s, SYS_add_key, P(scene_text(s, "user")),
		   P(scene_text(s, "cls")), P(scene_text(s, "secret")), 6,
		   (uint64_t)-2);
}

static void set_keyctl_read(struct scene *s)
{
	long key = syscall(SYS_add_key, "user", "cls", "secret", 6, -2);

	SCENE_CALL(s, SYS_keyctl, 11, (uint64_t)key, P(scene_space(s, 32)), 32);
}

static void set_keyctl_describe(struct scene *s)
{
	long key = syscall(SYS_add_key, "user", "cls", "secret", 6, -2);

	SCENE_CALL(s, SYS_keyctl, 6, (uint64_t)key, P(scene_space(s, 128)),
		   128);
}

static void set_sched_setattr(struct scene *s)
{
	uint32_t attr[14] = { 48 };

	SCENE_CALL(s, SYS_sched_setattr, 0,
		   P(scene_data(s, attr, sizeof(attr))), 0);
}

/* Its size is wrong: the right one comes back. */
static void set_sched_wrong(struct scene *s)
{
	uint32_t attr[14] = { 3 };

	SCENE_CALL(s, SYS_sched_setattr, 0,
		   P(scene_data(s, attr, sizeof(attr))), 0);
}

static void set_perf(struct scene *s)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};

	SCENE_CALL(s, SYS_perf_event_open,
		   P(scene_data(s, &attr, sizeof(attr))), 0, (uint64_t)-1,
		   (uint64_t)-1, 0);
}

static void set_interface(struct scene *s)
{
	struct ifreq request = { .ifr_name = "lo" };

	SCENE_CALL(s, SYS_ioctl, socket(AF_INET, SOCK_DGRAM, 0), SIOCGIFFLAGS,
		   P(scene_data(s, &request, sizeof(request))));
}

static void set_interfaces(struct scene *s)
{
	struct ifconf conf = { .ifc_len = 400 };

	conf.ifc_buf = scene_space(s, 400);
	SCENE_CALL(s, SYS_ioctl, socket(AF_INET, SOCK_DGRAM, 0), SIOCGIFCONF,
		   P(scene_data(s, &conf, sizeof(conf))));
}

static void set_flags(struct scene *s)
{
	SCENE_CALL(s, SYS_ioctl, scene_file(), FS_IOC_GETFLAGS,
		   P(scene_space(s, 8)));
}

static void set_figetbsz(struct scene *s)
{
	SCENE_CALL(s, SYS_ioctl, scene_file(), FIGETBSZ, P(scene_space(s, 4)));
}

static void set_move_pages(struct scene *s)
{
	uint64_t page = P(s->arena) & ~UINT64_C(4095);

	SCENE_CALL(s, SYS_move_pages, 0, 1, P(scene_data(s, &page, 8)), 0,
		   P(scene_space(s, 4)), 0);
}

static void set_getgroups(struct scene *s)
{
	uint32_t groups[3] = { 5, 6, 7 };

	/* Without the privilege it has others, which do as well. */
	syscall(SYS_setgroups, 3, groups);
	SCENE_CALL(s, SYS_getgroups, 16, P(scene_space(s, 64)));
}

static void set_setgroups(struct scene *s)
{
	uint32_t groups[3] = { 5, 6, 7 };

	SCENE_CALL(s, SYS_setgroups, 3, P(scene_data(s, groups, 12)));
}

/* Names of our own, or a call that fails: never those of the machine. */
static void set_hostname(struct scene *s)
{
	uint64_t size = unshare(CLONE_NEWUTS) ? 65 : 9;

	SCENE_CALL(s, SYS_sethostname, P(memset(scene_space(s, 65), 'n', 65)),
		   size);
}

static void set_mount(struct scene *s)
{
	const char *where = unshare(CLONE_NEWNS) ? "/no/such" : "/tmp";

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		where = "/no/such";
	SCENE_CALL(s, SYS_mount, P(scene_text(s, "none")),
		   P(scene_text(s, where)), P(scene_text(s, "tmpfs")), 0,
		   P(scene_text(s, "size=4096")));
}

static void set_fsconfig(struct scene *s)
{
	SCENE_CALL(s, SYS_fsconfig, syscall(SYS_fsopen, "tmpfs", 0), 1,
		   P(scene_text(s, "size")), P(scene_text(s, "4096")), 0);
}

static void set_syslog(struct scene *s)
{
	SCENE_CALL(s, SYS_syslog, 3, P(scene_space(s, 256)), 256);
}

static void set_ustat(struct scene *s)
{
	struct stat root;

	if (stat("/", &root))
		abort();
	SCENE_CALL(s, SYS_ustat, root.st_dev, P(scene_space(s, 32)));
}

static void set_sysfs(struct scene *s)
{
	SCENE_CALL(s, SYS_sysfs, 1, P(scene_text(s, "tmpfs")));
}

static void set_ldt(struct scene *s)
{
	SCENE_CALL(s, SYS_modify_ldt, 2, P(scene_space(s, 64)), 64);
}

static void set_seccomp(struct scene *s)
{
	struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, 0x7fff0000);
	struct sock_fprog program;

	/* Its padding, too. */
	memset(&program, 0, sizeof(program));
	program.len = 1;
	program.filter = scene_data(s, &code, sizeof(code));
	SCENE_CALL(s, SYS_seccomp, 1, 0,
		   P(scene_data(s, &program, sizeof(program))));
}

static void set_action(struct scene *s)
{
	uint32_t action = 0x7fff0000;

	SCENE_CALL(s, SYS_seccomp, 2, 0, P(scene_data(s, &action, 4)));
}

static void set_signalfd(struct scene *s)
{
	uint64_t set = 1u << (SIGUSR1 - 1);

	SCENE_CALL(s, SYS_signalfd4, (uint64_t)-1, P(scene_data(s, &set, 8)), 8,
		   0);
}

static void set_read_signal(struct scene *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	SCENE_CALL(s, SYS_read, signalfd(-1, &set, 0), P(scene_space(s, 300)),
		   300);
}

static void set_queueinfo(struct scene *s)
{
	siginfo_t info = { .si_signo = SIGCHLD, .si_code = SI_QUEUE };

	SCENE_CALL(s, SYS_rt_sigqueueinfo, getpid(), SIGCHLD,
		   P(scene_data(s, &info, sizeof(info))));
}

static void set_vm_write(struct scene *s)
{
	static char target[32];
	struct iovec local = { scene_text(s, "abcdefg"), 8 };
	struct iovec remote = { target, 32 };

	SCENE_CALL(s, SYS_process_vm_writev, getpid(),
		   P(scene_data(s, &local, sizeof(local))), 1,
		   P(scene_data(s, &remote, sizeof(remote))), 1);
}

static void set_no_peer(struct scene *s)
{
	uint32_t size = 0x5a5a5a5a;

	SCENE_CALL(s, SYS_getpeername, socket(AF_INET, SOCK_STREAM, 0),
		   P(scene_space(s, 16)), P(scene_data(s, &size, 4)));
}

static const struct live_case rows[] = {
	LIVE_ROW(statmount, LIVE_MAY_FAIL),
	LIVE_ROW(listmount, LIVE_MAY_FAIL),
	LIVE_ROW(lsm_list, LIVE_MAY_FAIL),
	LIVE_ROW(cachestat, LIVE_MAY_FAIL),
	LIVE_ROW(file_getattr, LIVE_MAY_FAIL),
	LIVE_ROW(getxattrat, LIVE_MAY_FAIL),
	LIVE_ROW(setxattrat, LIVE_MAY_FAIL),
	LIVE_ROW(openat2, 0),
	LIVE_ROW(landlock, LIVE_MAY_FAIL),
	LIVE_ROW(add_key, LIVE_MAY_FAIL | LIVE_CHANGES),
	LIVE_ROW(keyctl_read, LIVE_MAY_FAIL),
	LIVE_ROW(keyctl_describe, LIVE_MAY_FAIL),
	LIVE_ROW(sched_setattr, 0),
	LIVE_ROW(sched_wrong, LIVE_FAILS),
	LIVE_ROW(perf, LIVE_MAY_FAIL),
	LIVE_ROW(interface, 0),
	LIVE_ROW(interfaces, 0),
	LIVE_ROW(flags, LIVE_MAY_FAIL),
	LIVE_ROW(figetbsz, 0),
	LIVE_ROW(move_pages, LIVE_MAY_FAIL),
	LIVE_ROW(getgroups, LIVE_MAY_FAIL),
	LIVE_ROW(setgroups, LIVE_MAY_FAIL),
	LIVE_ROW(hostname, LIVE_MAY_FAIL),
	LIVE_ROW(mount, LIVE_MAY_FAIL),
	LIVE_ROW(fsconfig, LIVE_MAY_FAIL),
	LIVE_ROW(syslog, LIVE_MAY_FAIL | LIVE_CHANGES),
	LIVE_ROW(ustat, LIVE_MAY_FAIL | LIVE_CHANGES),
	LIVE_ROW(sysfs, LIVE_MAY_FAIL),
	LIVE_ROW(ldt, LIVE_MAY_FAIL),
	LIVE_ROW(seccomp, LIVE_MAY_FAIL),
	LIVE_ROW(action, 0),
	LIVE_ROW(signalfd, 0),
	LIVE_ROW(read_signal, LIVE_CHANGES),
	LIVE_ROW(queueinfo, 0),
	LIVE_ROW(vm_write, 0),
	LIVE_ROW(no_peer, LIVE_FAILS),
};

const struct live_cases live_rare = { rows, ARRAY_SIZE(rows) };
