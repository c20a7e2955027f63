/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "tracer/wake.h"

/* Written by handlers: there is no other way to reach them. */
static volatile sig_atomic_t leave, tick;
static volatile pid_t passes_to;

/* All that would end us, and with us a target with pages it cannot touch. */
static const int handled[] = {
	SIGALRM, SIGINT,  SIGTERM,   SIGHUP,	SIGQUIT,
	SIGUSR1, SIGUSR2, SIGXCPU,   SIGVTALRM, SIGPROF,
	SIGPOLL, SIGPWR,  SIGSTKFLT, SIGPIPE,	SIGXFSZ,
};
enum { COUNT = ARRAY_SIZE(handled) + 64 - 33 /* realtime ones, too */ };
static struct sigaction before[COUNT];

static int signal_of(size_t i)
{
	return i < ARRAY_SIZE(handled)
		       ? handled[i]
		       : SIGRTMAX - (int)(i - ARRAY_SIZE(handled));
}

/* Of the timer in own_limits.c: timers are not inherited. */
static bool is_ours(int signal, const siginfo_t *info)
{
	return signal == SIGPROF && info->si_code == SI_KERNEL;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	int number = errno;

	if (signal == SIGALRM)
		tick = 1;
	else if (!passes_to || is_ours(signal, info))
		leave = 1;
	else if (info->si_code != SI_KERNEL) /* not from the terminal */
		kill(passes_to, signal);
	errno = number;
}

/* A write that fails says so in errno; the signal is not wanted. */
static bool is_of_a_write(int signal)
{
	return signal == SIGPIPE || signal == SIGXFSZ;
}

static int handle(int signal, struct sigaction *old)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO };

	sigaction(signal, NULL, old);
	/* Ignored for us by whoever started us (nohup): stays so. */
	if (signal != SIGALRM && old->sa_handler == SIG_IGN)
		return 0;
	if (is_of_a_write(signal))
		action = (struct sigaction){ .sa_handler = SIG_IGN };
	return sigaction(signal, &action, NULL) < 0 ? -errno : 0;
}

void wake_signals(sigset_t *ret)
{
	sigemptyset(ret);
	for (size_t i = 0; i < COUNT; i++)
		sigaddset(ret, signal_of(i));
}

int wake_install(pid_t program)
{
	sigset_t set;

	passes_to = program;
	leave = tick = 0;
	wake_signals(&set);
	for (size_t i = 0; i < COUNT; i++) {
		int r = handle(signal_of(i), &before[i]);

		if (r < 0)
			return r;
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 0;
}

int wake_every(unsigned tick_ms)
{
	const struct itimerval timer = {
		.it_interval.tv_usec = (suseconds_t)tick_ms * 1000,
		.it_value.tv_usec = (suseconds_t)tick_ms * 1000,
	};

	return setitimer(ITIMER_REAL, &timer, NULL) < 0 ? -errno : 0;
}

void wake_orphaned(void)
{
	passes_to = 0;
}

void wake_quiet(void)
{
	const struct itimerval off = { 0 };

	setitimer(ITIMER_REAL, &off, NULL);
}

void wake_restore(void)
{
	wake_quiet();
	for (size_t i = 0; i < COUNT; i++)
		sigaction(signal_of(i), &before[i], NULL);
}

bool wake_leave(void)
{
	return leave;
}

bool wake_tick(void)
{
	bool came = tick;

	tick = 0;
	return came;
}
