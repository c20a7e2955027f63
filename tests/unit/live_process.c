/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/live.h"

/* Calls with one buffer that is filled: number, argument, size, the rest. */
#define FILLED(name, number, size, ...)                                        \
	static void set_##name(struct scene *s)                                \
	{                                                                      \
		uint64_t out = P(scene_space(s, size));                        \
		SCENE_CALL(s, number, __VA_ARGS__);                            \
	}

FILLED(uname, SYS_uname, 390, out)
FILLED(sysinfo, SYS_sysinfo, 112, out)
FILLED(times, SYS_times, 32, out)
FILLED(getrusage, SYS_getrusage, 144, RUSAGE_SELF, out)
FILLED(getrlimit, SYS_getrlimit, 16, RLIMIT_NOFILE, out)
FILLED(affinity, SYS_sched_getaffinity, 128, 0, 128, out)
FILLED(getparam, SYS_sched_getparam, 4, 0, out)
FILLED(getattr, SYS_sched_getattr, 56, 0, out, 56)
FILLED(interval, SYS_sched_rr_get_interval, 16, 0, out)
FILLED(gettime, SYS_clock_gettime, 16, CLOCK_REALTIME, out)
FILLED(getres, SYS_clock_getres, 16, CLOCK_MONOTONIC, out)
FILLED(getitimer, SYS_getitimer, 32, ITIMER_REAL, out)
FILLED(time, SYS_time, 8, out)
FILLED(getcpu, SYS_getcpu, 8, out, out + 4)
FILLED(getresuid, SYS_getresuid, 12, out, out + 4, out + 8)
FILLED(timeofday, SYS_gettimeofday, 24, out, out + 16)
FILLED(getrandom, SYS_getrandom, 40, out, 40, 0)
FILLED(get_name, SYS_prctl, 16, PR_GET_NAME, out)
FILLED(tid_address, SYS_prctl, 8, PR_GET_TID_ADDRESS, out)
FILLED(deathsig, SYS_prctl, 4, PR_GET_PDEATHSIG, out)
FILLED(get_fs, SYS_arch_prctl, 8, 0x1003, out)
FILLED(robust, SYS_get_robust_list, 16, 0, out, out + 8)
FILLED(sigpending, SYS_rt_sigpending, 8, out, 8)
FILLED(get_mask, SYS_rt_sigprocmask, 8, SIG_BLOCK, 0, out, 8)
FILLED(get_action, SYS_rt_sigaction, 32, SIGUSR1, 0, out, 8)
FILLED(get_stack, SYS_sigaltstack, 24, 0, out)
FILLED(prlimit, SYS_prlimit64, 16, 0, RLIMIT_CORE, 0, out)
FILLED(notif_sizes, SYS_seccomp, 6, 3, 0, out)
FILLED(mempolicy, SYS_get_mempolicy, 4, out)

static void child_exits(int status)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(status);
	/* Ready, but not taken away. */
	if (pid < 0 || waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT))
		abort();
}

static void set_wait4(struct scene *s)
{
	child_exits(0);
	SCENE_CALL(s, SYS_wait4, -1, P(scene_space(s, 4)), 0,
		   P(scene_space(s, 144)));
}

static void set_waitid(struct scene *s)
{
	child_exits(3);
	SCENE_CALL(s, SYS_waitid, P_ALL, 0, P(scene_space(s, 128)), WEXITED,
		   P(scene_space(s, 144)));
}

static void set_nanosleep(struct scene *s)
{
	struct timespec wait = { 0, 1000 };

	SCENE_CALL(s, SYS_nanosleep, P(scene_data(s, &wait, sizeof(wait))),
		   P(scene_space(s, 16)));
}

static void ignore(int sig)
{
}

/* Signals that interrupt what comes: their handler does nothing. */
static void interrupt_soon(void)
{
	struct itimerval soon = { { 0, 20000 }, { 0, 20000 } };
	struct sigaction action = { .sa_handler = ignore };

	if (sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &soon, NULL))
		abort();
}

static void set_interrupted(struct scene *s)
{
	struct timespec wait = { 15, 0 };

	interrupt_soon();
	SCENE_CALL(s, SYS_clock_nanosleep, CLOCK_MONOTONIC, 0,
		   P(scene_data(s, &wait, sizeof(wait))),
		   P(scene_space(s, 16)));
}

static void set_sigprocmask(struct scene *s)
{
	uint64_t set = 0x800;

	SCENE_CALL(s, SYS_rt_sigprocmask, SIG_BLOCK, P(scene_data(s, &set, 8)),
		   P(scene_space(s, 8)), 8);
}

/* The same memory is read, then written. */
static void set_same_mask(struct scene *s)
{
	uint64_t set = 0x800, at = P(scene_data(s, &set, 8));

	SCENE_CALL(s, SYS_rt_sigprocmask, SIG_BLOCK, at, at, 8);
}

static void set_sigaction(struct scene *s)
{
	uint64_t action[4] = { 1 }; /* SIG_IGN */

	SCENE_CALL(s, SYS_rt_sigaction, SIGUSR1,
		   P(scene_data(s, action, sizeof(action))),
		   P(scene_space(s, 32)), 8);
}

static void set_sigtimedwait(struct scene *s)
{
	struct timespec limit = { 1, 0 };
	sigset_t all;
	uint64_t set = 1u << (SIGUSR1 - 1);

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	raise(SIGUSR1);
	SCENE_CALL(s, SYS_rt_sigtimedwait, P(scene_data(s, &set, 8)),
		   P(scene_space(s, 128)),
		   P(scene_data(s, &limit, sizeof(limit))), 8);
}

static void set_altstack(struct scene *s)
{
	stack_t stack = { .ss_sp = scene_space(s, 16384), .ss_size = 16384 };

	SCENE_CALL(s, SYS_sigaltstack, P(scene_data(s, &stack, sizeof(stack))),
		   P(scene_space(s, 24)));
}

static void set_timer_create(struct scene *s)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };

	SCENE_CALL(s, SYS_timer_create, CLOCK_MONOTONIC,
		   P(scene_data(s, &event, sizeof(event))),
		   P(scene_space(s, 4)));
}

static uint64_t new_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	int id;

	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id))
		abort();

	return (uint64_t)id;
}

static void set_timer_settime(struct scene *s)
{
	struct itimerspec when = { { 0, 0 }, { 1000, 0 } };

	SCENE_CALL(s, SYS_timer_settime, new_timer(), 0,
		   P(scene_data(s, &when, sizeof(when))),
		   P(scene_space(s, 32)));
}

static void set_timer_gettime(struct scene *s)
{
	SCENE_CALL(s, SYS_timer_gettime, new_timer(), P(scene_space(s, 32)));
}

static void set_setitimer(struct scene *s)
{
	struct itimerval when = { { 0, 0 }, { 1000, 0 } };

	SCENE_CALL(s, SYS_setitimer, ITIMER_VIRTUAL,
		   P(scene_data(s, &when, sizeof(when))),
		   P(scene_space(s, 32)));
}

static void set_capget(struct scene *s)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3,
						   0 };

	SCENE_CALL(s, SYS_capget, P(scene_data(s, &header, sizeof(header))),
		   P(scene_space(s, 24)));
}

static void set_capget_old(struct scene *s)
{
	struct __user_cap_header_struct header = { 1, 0 };

	SCENE_CALL(s, SYS_capget, P(scene_data(s, &header, sizeof(header))),
		   P(scene_space(s, 24)));
}

static void set_name(struct scene *s)
{
	SCENE_CALL(s, SYS_prctl, PR_SET_NAME,
		   P(scene_text(s, "a name that is much too long")));
}

static void set_adjtimex(struct scene *s)
{
	struct timex timex = { 0 };

	SCENE_CALL(s, SYS_adjtimex, P(scene_data(s, &timex, sizeof(timex))));
}

static const struct live_case rows[] = {
	LIVE_ROW(uname, 0),
	LIVE_ROW(sysinfo, LIVE_CHANGES),
	LIVE_ROW(times, LIVE_CHANGES),
	LIVE_ROW(getrusage, LIVE_CHANGES),
	LIVE_ROW(getrlimit, 0),
	LIVE_ROW(affinity, 0),
	LIVE_ROW(getparam, 0),
	LIVE_ROW(getattr, 0),
	LIVE_ROW(interval, LIVE_CHANGES),
	LIVE_ROW(gettime, LIVE_CHANGES),
	LIVE_ROW(getres, 0),
	LIVE_ROW(getitimer, LIVE_CHANGES),
	LIVE_ROW(time, LIVE_CHANGES),
	LIVE_ROW(getcpu, LIVE_CHANGES),
	LIVE_ROW(getresuid, 0),
	LIVE_ROW(timeofday, LIVE_CHANGES),
	LIVE_ROW(getrandom, LIVE_CHANGES),
	LIVE_ROW(get_name, 0),
	LIVE_ROW(tid_address, LIVE_MAY_FAIL | LIVE_MOVES),
	LIVE_ROW(deathsig, 0),
	LIVE_ROW(get_fs, LIVE_MOVES),
	LIVE_ROW(robust, LIVE_MOVES),
	LIVE_ROW(sigpending, 0),
	LIVE_ROW(get_mask, 0),
	LIVE_ROW(get_action, 0),
	LIVE_ROW(get_stack, 0),
	LIVE_ROW(prlimit, 0),
	LIVE_ROW(notif_sizes, LIVE_MAY_FAIL),
	LIVE_ROW(mempolicy, LIVE_MAY_FAIL),
	LIVE_ROW(wait4, LIVE_CHANGES),
	LIVE_ROW(waitid, LIVE_CHANGES),
	LIVE_ROW(nanosleep, 0),
	LIVE_ROW(interrupted, LIVE_CHANGES | LIVE_FAILS),
	LIVE_ROW(sigprocmask, 0),
	LIVE_ROW(same_mask, 0),
	LIVE_ROW(sigaction, 0),
	LIVE_ROW(sigtimedwait, LIVE_CHANGES),
	LIVE_ROW(altstack, LIVE_REFUSED),
	LIVE_ROW(timer_create, 0),
	LIVE_ROW(timer_settime, 0),
	LIVE_ROW(timer_gettime, 0),
	LIVE_ROW(setitimer, LIVE_MOVES),
	LIVE_ROW(capget, 0),
	LIVE_ROW(capget_old, LIVE_FAILS),
	LIVE_ROW(name, 0),
	LIVE_ROW(adjtimex, LIVE_CHANGES),
};

const struct live_cases live_process = { rows, ARRAY_SIZE(rows) };
