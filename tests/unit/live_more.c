/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/unit/live.h"

/* One call with a buffer "in" that holds the given words, and one "out". */
#define WITH_WORDS(name, number, words, ...)                                   \
	static void set_##name(struct scene *s)                                \
	{                                                                      \
		static const uint64_t w[] = words;                             \
		uint64_t in = P(scene_data(s, w, sizeof(w)));                  \
		uint64_t out = P(scene_space(s, 64));                          \
                                                                               \
		(void)(in | out);                                              \
		SCENE_CALL(s, number, __VA_ARGS__);                            \
	}

#define WORDS(...)                                                             \
	{                                                                      \
		__VA_ARGS__                                                    \
	}

static uint64_t own_pidfd(void)
{
	return (uint64_t)syscall(SYS_pidfd_open, getpid(), 0);
}

static uint64_t text(struct scene *s, const char *what)
{
	return P(scene_text(s, what));
}

static uint64_t open_pages(void)
{
	return P(mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void ignore(int sig)
{
}

/* A signal every 20 ms, which ends the call that comes. */
static uint64_t ticking(void)
{
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } };
	struct sigaction action = { .sa_handler = ignore };

	if (sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &often, NULL))
		abort();
	return 0;
}

static uint64_t empty_pipe(void)
{
	int fds[2];

	if (pipe(fds))
		abort();
	return (uint64_t)fds[0];
}

static uint64_t epoll_set(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 9 };
	int fds[2], set = epoll_create1(0);

	scene_pipe(fds);
	if (epoll_ctl(set, EPOLL_CTL_ADD, fds[0], &event))
		abort();
	return (uint64_t)set;
}

static uint64_t queue(void)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 64 };
	int fd = mq_open("/cls-more", O_RDWR | O_CREAT, 0600, &attr);

	mq_unlink("/cls-more");
	return (uint64_t)fd;
}

static void remove_messages(int id)
{
	msgctl(id, IPC_RMID, NULL);
}

static void remove_semaphores(int id)
{
	semctl(id, 0, IPC_RMID);
}

static uint64_t messages(struct scene *s)
{
	s->id = msgget(IPC_PRIVATE, 0600);
	s->clean = remove_messages;
	return (uint64_t)s->id;
}

static uint64_t semaphores(struct scene *s)
{
	s->id = semget(IPC_PRIVATE, 2, 0600);
	s->clean = remove_semaphores;
	return (uint64_t)s->id;
}

/* A set of one signal. */
#define BIT(sig) (UINT64_C(1) << ((sig)-1))

/* A siginfo: signal, errno; code, padding; the rest. */
#define INFO                                                                   \
	WORDS(SIGCHLD, (uint32_t)SI_QUEUE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
	      0, 0)

WITH_WORDS(getresgid, SYS_getresgid, WORDS(0), out, out + 4, out + 8)
WITH_WORDS(setrlimit, SYS_setrlimit, WORDS(0, RLIM_INFINITY), RLIMIT_CORE, in)
WITH_WORDS(sched_setaffinity, SYS_sched_setaffinity, WORDS(~UINT64_C(0)), 0, 8,
	   in)
WITH_WORDS(sched_setparam, SYS_sched_setparam, WORDS(0), 0, in)
WITH_WORDS(sched_setscheduler, SYS_sched_setscheduler, WORDS(0), 0, SCHED_OTHER,
	   in)
/* The clocks of the machine are not ours to set. */
WITH_WORDS(settimeofday, SYS_settimeofday, WORDS(1, UINT64_MAX), in, 0)
WITH_WORDS(clock_settime, SYS_clock_settime, WORDS(1, UINT64_MAX), 0, in)
WITH_WORDS(clock_adjtime, SYS_clock_adjtime,
	   WORDS(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		 0, 0, 0, 0, 0),
	   0, in)
WITH_WORDS(setdomainname, SYS_setdomainname, WORDS(0), in, 65)
WITH_WORDS(init_module, SYS_init_module, WORDS(1, 2, 3), in, 24, text(s, "x"))
WITH_WORDS(finit_module, SYS_finit_module, WORDS(0), -1, text(s, "x"), 0)
WITH_WORDS(delete_module, SYS_delete_module, WORDS(0), text(s, "no such"), 0)
WITH_WORDS(mq_unlink, SYS_mq_unlink, WORDS(0), text(s, "no-such"))
WITH_WORDS(mq_timedsend, SYS_mq_timedsend, WORDS(1000, 0), queue(),
	   text(s, "hello"), 6, 3, in)
WITH_WORDS(mq_notify, SYS_mq_notify,
	   WORDS(0, UINT64_C(1) << 32, 0, 0, 0, 0, 0, 0), queue(), in)
WITH_WORDS(msgsnd, SYS_msgsnd, WORDS(7, 0x6f6c6c6568), messages(s), in, 5, 0)
WITH_WORDS(semtimedop, SYS_semtimedop, WORDS(0x10000, 1, 0), semaphores(s), in,
	   1, in + 8)
/* Semaphore 0 down, which never comes. */
WITH_WORDS(semtimedop_late, SYS_semtimedop, WORDS(0xffff0000, 0, 0),
	   semaphores(s), in, 1, in + 8)
WITH_WORDS(epoll_pwait, SYS_epoll_pwait, WORDS(BIT(SIGHUP)), epoll_set(), out,
	   5, 0, in, 8)
WITH_WORDS(signalfd, SYS_signalfd, WORDS(BIT(SIGHUP)), -1, in, 8)
WITH_WORDS(tgqueueinfo, SYS_rt_tgsigqueueinfo, INFO, getpid(), gettid(),
	   SIGCHLD, in)
WITH_WORDS(pidfd_signal, SYS_pidfd_send_signal, INFO, own_pidfd(), SIGCHLD, in,
	   0)
WITH_WORDS(sigsuspend, SYS_rt_sigsuspend, WORDS(0), in, 8 + ticking())
WITH_WORDS(select_broken, SYS_select, WORDS(20, 0), ticking(), 0, 0, 0, in)
WITH_WORDS(ppoll_broken, SYS_ppoll, WORDS(20, 0), 0, ticking(), in, 0, 8)
WITH_WORDS(read_broken, SYS_read, WORDS(0), empty_pipe(), out, 8 + ticking())
WITH_WORDS(epoll_broken, SYS_epoll_wait, WORDS(0), epoll_create1(0), out, 5,
	   20000 + ticking())
WITH_WORDS(mempolicy_set, SYS_set_mempolicy, WORDS(1), 1, in, 64)
WITH_WORDS(mbind, SYS_mbind, WORDS(1), open_pages(), 4096, 2, in, 64, 0)
WITH_WORDS(migrate_pages, SYS_migrate_pages, WORDS(1), 0, 64, in, in)
WITH_WORDS(request_key, SYS_request_key, WORDS(0), text(s, "user"),
	   text(s, "no-such-key"), 0, 0)
WITH_WORDS(lsm_get, 459, WORDS(64), 100, out, in, 0)
WITH_WORDS(lsm_set, 460, WORDS(100, 0, 32, 0), 100, in, 32, 0)
WITH_WORDS(landlock_rule, SYS_landlock_add_rule, WORDS(1, 0), -1, 1, in, 0)
WITH_WORDS(kcmp, SYS_kcmp, WORDS(0, 0), getpid(), getpid(), 7, 0, in)
WITH_WORDS(peekdata, SYS_ptrace, WORDS(0), 2, 0, 0, out)
WITH_WORDS(open_handle, SYS_open_by_handle_at, WORDS(0x100000004, 0), AT_FDCWD,
	   in, 0)
WITH_WORDS(dcookie, SYS_lookup_dcookie, WORDS(0), 1, out, 64)
WITH_WORDS(io_pgetevents, SYS_io_pgetevents, WORDS(0, 0), 0, 1, 1, out, in, 0)
WITH_WORDS(getlk_bad, SYS_fcntl, WORDS(0), scene_file(), F_GETLK, in)
WITH_WORDS(sigmask_size, SYS_rt_sigprocmask, WORDS(0), 0, in, out, 4)

static void set_capset(struct scene *s)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		abort();
	SCENE_CALL(s, SYS_capset, P(scene_data(s, &header, sizeof(header))),
		   P(scene_data(s, data, sizeof(data))));
}

static void set_pwritev(struct scene *s)
{
	struct iovec iov = { scene_text(s, "abcd"), 4 };

	SCENE_CALL(s, SYS_pwritev, scene_file(),
		   P(scene_data(s, &iov, sizeof(iov))), 1, 8);
}

static void set_pwritev2(struct scene *s)
{
	struct iovec iov = { scene_text(s, "abcd"), 4 };

	SCENE_CALL(s, SYS_pwritev2, scene_file(),
		   P(scene_data(s, &iov, sizeof(iov))), 1, 8, 0, 0);
}

static void set_process_madvise(struct scene *s)
{
	struct iovec iov = { (void *)(uintptr_t)open_pages(), 4096 };

	SCENE_CALL(s, SYS_process_madvise, own_pidfd(),
		   P(scene_data(s, &iov, sizeof(iov))), 1, MADV_COLD, 0);
}

#define RARE(name) LIVE_ROW(name, LIVE_MAY_FAIL)

static const struct live_case rows[] = {
	LIVE_ROW(getresgid, 0),
	LIVE_ROW(setrlimit, 0),
	LIVE_ROW(sched_setaffinity, 0),
	LIVE_ROW(sched_setparam, 0),
	LIVE_ROW(sched_setscheduler, 0),
	LIVE_ROW(settimeofday, LIVE_FAILS),
	LIVE_ROW(clock_settime, LIVE_FAILS),
	LIVE_ROW(clock_adjtime, LIVE_CHANGES),
	LIVE_ROW(setdomainname, LIVE_FAILS),
	LIVE_ROW(init_module, LIVE_FAILS),
	LIVE_ROW(finit_module, LIVE_FAILS),
	LIVE_ROW(delete_module, LIVE_FAILS),
	LIVE_ROW(mq_unlink, LIVE_FAILS),
	RARE(mq_timedsend),
	RARE(mq_notify),
	LIVE_ROW(msgsnd, 0),
	LIVE_ROW(semtimedop, 0),
	LIVE_ROW(semtimedop_late, LIVE_FAILS),
	LIVE_ROW(epoll_pwait, 0),
	LIVE_ROW(signalfd, 0),
	LIVE_ROW(tgqueueinfo, 0),
	LIVE_ROW(pidfd_signal, LIVE_MAY_FAIL),
	LIVE_ROW(sigsuspend, LIVE_FAILS),
	LIVE_ROW(select_broken, LIVE_FAILS | LIVE_CHANGES),
	LIVE_ROW(ppoll_broken, LIVE_FAILS | LIVE_CHANGES),
	LIVE_ROW(read_broken, LIVE_FAILS),
	LIVE_ROW(epoll_broken, LIVE_FAILS),
	RARE(mempolicy_set),
	RARE(mbind),
	RARE(migrate_pages),
	LIVE_ROW(request_key, LIVE_FAILS),
	RARE(lsm_get),
	RARE(lsm_set),
	LIVE_ROW(landlock_rule, LIVE_FAILS),
	LIVE_ROW(kcmp, LIVE_FAILS),
	LIVE_ROW(peekdata, LIVE_FAILS),
	LIVE_ROW(open_handle, LIVE_FAILS),
	LIVE_ROW(dcookie, LIVE_FAILS),
	LIVE_ROW(io_pgetevents, LIVE_FAILS),
	LIVE_ROW(getlk_bad, LIVE_FAILS),
	LIVE_ROW(sigmask_size, LIVE_FAILS),
	LIVE_ROW(capset, LIVE_MAY_FAIL),
	LIVE_ROW(pwritev, 0),
	LIVE_ROW(pwritev2, 0),
	LIVE_ROW(process_madvise, LIVE_MAY_FAIL | LIVE_MOVES),
};

const struct live_cases live_more = { rows, ARRAY_SIZE(rows) };
