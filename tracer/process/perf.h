/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * perf - where a thread is, as perf_event_open(2) tells: without a stop
 *
 * Two software events for each thread; neither needs a PMU.  By the clock, one
 * that runs leaves its registers and the top of its stack in a ring.  At each
 * switch to another thread it leaves the registers with which it sleeps then.
 * A thread that is interrupted instead could tell: a write(2) that is copying
 * returns early.
 */

#include <sys/user.h>
#include <time.h>

#include "base/error.h"

enum {
	PERF_STACK = 32 << 10, /* bytes of a stack that are kept at most */
	PERF_ROOM = 4 * PERF_STACK,
};

struct perf;

struct perf_sample {
	struct timespec time;	      /* CLOCK_REALTIME */
	struct user_regs_struct regs; /* rip and the general ones */
	const char *stack; /* from rsp up; valid until the next call */
	size_t size;	   /* of it, in bytes */
};

/*
 * Is this allowed at all?  0; -EACCES, -EPERM, -ENOSYS ... with what helps in
 * @err.
 */
int perf_allowed(struct error *err) _must_check_;

/* Nanoseconds; the kernel takes no more than 63 bits. */
static inline uint64_t perf_period(double hz)
{
	return hz < 1e-9 ? (uint64_t)1e18 : (uint64_t)(1e9 / hz);
}

/*
 * Watch @tid, @hz times in each second that it runs.  @room: bytes for its
 * samples, a power of two, PERF_ROOM at least.  0 or -errno.
 */
int perf_new(pid_t tid, double hz, size_t room, struct perf **ret) _must_check_;
void perf_free(struct perf *perf);

/* The next sample of the clock.  1; 0: there is none. */
int perf_next(struct perf *perf, struct perf_sample *ret) _must_check_;

/* Not while it works for us.  On again: the next period begins. */
void perf_pause(struct perf *perf, bool pause);

/* Samples for which the ring had no room, since this was asked last. */
uint64_t perf_lost(struct perf *perf);

/* Has it mapped code since this was asked last?  perf_next() sees that. */
bool perf_mapped(struct perf *perf);

/* A thread that sleeps in the kernel. */
struct perf_sleep {
	long call; /* the number of its system call; -1: it is in none */
	struct user_regs_struct regs; /* as in a sample */
	uint64_t turn; /* another one each time that it goes to sleep */
};

/*
 * 1: it sleeps, or stands in a stop; 0: it does not; -ENODATA: it does, but
 * has since before perf_new(), and only the call is known.
 */
int perf_asleep(const struct perf *perf, struct perf_sleep *ret) _must_check_;
