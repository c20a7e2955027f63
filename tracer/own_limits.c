/* SPDX-License-Identifier: Apache-2.0 */
#include <alloca.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "base/macro.h"
#include "tracer/own_limits.h"

enum {
	FILES_NEEDED = 32,
	FILES_WANTED = 4096, /* each process of a run has some of its own */
	RESERVE_MS = 300,    /* of CPU time: for leaving */
	STACK_SIZE = 4 << 20,
	STACK_LEAST = 64 << 10,
};

static const struct {
	int resource;
	rlim_t wanted; /* if it takes a privilege: no more than that */
} raised[] = {
	{ RLIMIT_NOFILE, FILES_WANTED }, { RLIMIT_FSIZE, RLIM_INFINITY },
	{ RLIMIT_AS, RLIM_INFINITY },	 { RLIMIT_DATA, RLIM_INFINITY },
	{ RLIMIT_CPU, RLIM_INFINITY },
};
static struct rlimit before[ARRAY_SIZE(raised)];
static struct rlimit stack_before;
static struct sigaction too_large;

/* Returns what is allowed now. */
static rlim_t raise_one(int resource, rlim_t wanted, struct rlimit *old)
{
	struct rlimit limit = { wanted, wanted };

	if (getrlimit(resource, old) < 0)
		return wanted;
	if (old->rlim_max < wanted && setrlimit(resource, &limit) == 0)
		return wanted;
	limit = (struct rlimit){ old->rlim_max, old->rlim_max };
	setrlimit(resource, &limit);
	return old->rlim_max;
}

/* The kernel would kill us, and nobody would open the pages. */
static void leave_in_time(rlim_t seconds)
{
	struct itimerval timer = { 0 };
	struct rusage used;
	int64_t ms;

	if (seconds > INT32_MAX || getrusage(RUSAGE_SELF, &used) < 0)
		return;
	ms = (int64_t)seconds * 1000 - RESERVE_MS -
	     (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 -
	     (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
	if (ms < 1)
		ms = 1;
	timer.it_value.tv_sec = ms / 1000;
	timer.it_value.tv_usec = ms % 1000 * 1000;
	setitimer(ITIMER_PROF, &timer, NULL);
}

static __attribute__((noinline)) void reach_down(size_t size)
{
	volatile char *bytes = alloca(size);

	bytes[0] = 0;
}

/*
 * Where we look below the program's stack the kernel makes it grow, up to our
 * limit and not the program's.  With none left to us it does not.  So ours is
 * as large as it will ever be first.
 */
static void keep_stacks(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &stack_before) < 0)
		return;
	limit = stack_before;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_STACK, &limit) < 0)
		return;
	if (limit.rlim_max > STACK_SIZE + STACK_LEAST)
		reach_down(STACK_SIZE);
	else if (limit.rlim_max > 2 * STACK_LEAST)
		reach_down(limit.rlim_max - 2 * STACK_LEAST);
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_STACK, &limit);
}

int limits_raise(struct error *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	rlim_t files = 0;

	sigaction(SIGXFSZ, &ignore, &too_large);
	keep_stacks();
	for (size_t i = 0; i < ARRAY_SIZE(raised); i++) {
		rlim_t now = raise_one(raised[i].resource, raised[i].wanted,
				       &before[i]);

		if (raised[i].resource == RLIMIT_NOFILE)
			files = now;
		if (raised[i].resource == RLIMIT_CPU)
			leave_in_time(now);
	}
	if (files < FILES_NEEDED)
		return error_set(err, -EMFILE,
				 "%d open files are too few: ulimit -n %d",
				 (int)files, FILES_WANTED);
	return 0;
}

void limits_restore(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(raised); i++)
		setrlimit(raised[i].resource, &before[i]);
	setrlimit(RLIMIT_STACK, &stack_before);
	sigaction(SIGXFSZ, &too_large, NULL);
}
