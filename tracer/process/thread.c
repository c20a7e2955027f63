/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "tracer/process/frames.h"
#include "tracer/process/landing.h"
#include "tracer/process/perf.h"
#include "tracer/process/process.h"
#include "tracer/process/status.h"

/* States that may follow, as the picture in process.h has them. */
static const unsigned arrows[] = {
	[THREAD_NEW] = 1 << THREAD_STOPPED | 1 << THREAD_PARKED,
	[THREAD_RUNNING] = 1 << THREAD_STOPPED | 1 << THREAD_PARKED,
	[THREAD_STOPPED] = 1 << THREAD_RUNNING | 1 << THREAD_PARKED,
	[THREAD_PARKED] = 1 << THREAD_STOPPED,
	[THREAD_GONE] = 0,
};

void thread_set_state(struct thread *thread, enum thread_state state)
{
	assert(state == THREAD_GONE || state == thread->state ||
	       arrows[thread->state] & 1u << state);
	thread->state = state;
	if (thread_is_stopped(thread))
		landing_end(thread);
}

bool thread_is_stopped(const struct thread *thread)
{
	return thread->state == THREAD_STOPPED ||
	       thread->state == THREAD_PARKED;
}

void thread_forget(struct thread *thread)
{
	thread->comm[0] = '\0';
	thread->last_call = -1;
	thread->restarted = thread->grouped = thread->mask_known = false;
	thread->lifted = thread->enters = thread->doomed = false;
	thread->ended = thread->untold = false;
	thread->stackless = false;
	thread->waits = true;
	frames_forget(thread);
	thread->inner = 0;
	thread->call_deadline = 0;
	thread->partial = 0;
	thread->partial_vector = 0;
	thread->owed = 0;
	thread->fs_base = thread->clear_tid = 0;
	thread->altstack = thread->altstack_size = 0;
	thread->rseq_known = false;
	/* That of the thread that exec'ed is another one's. */
	perf_free(thread->perf);
	thread->perf = NULL;
	thread->perf_failed = thread->woken = false;
}

pid_t thread_inner(struct thread *thread)
{
	struct status status;

	if (!thread->inner && status_read(thread->tid, &status) == 0)
		thread->inner = status.inner;
	return thread->inner;
}

bool thread_is_in_state(pid_t tid, const char *states)
{
	char path[48], line[512], *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return strchr(states, 'X');
	end = strrchr(line, ')');
	return end && end[1] == ' ' && strchr(states, end[2]);
}

/*
 * Will not answer, and will not touch memory before it stops: sleeps in the
 * kernel where no interrupt reaches it (vfork, disk, network file system), or
 * is the dead leader of a process whose other threads live on.
 */
static bool is_deaf(pid_t tid)
{
	return thread_is_in_state(tid, "DZX");
}

int thread_wait(struct thread *thread, struct stop *stop)
{
	int r;

	do {
		r = stop_wait(thread->tid, true, stop);
		if (r == -EINTR && thread_is_in_state(thread->tid, "ZX"))
			return -ESRCH;
	} while (r == -EINTR);

	if (r < 0)
		return r == -ECHILD ? -ESRCH : r;
	if (!stop_is_end(stop))
		return 0;
	thread->stop = *stop;
	thread_set_state(thread, THREAD_GONE);
	return -ESRCH;
}

static void park(struct thread *thread, const struct stop *stop)
{
	thread->stop = *stop;
	thread->in_call = false;
	if (stop_is_end(stop))
		thread_set_state(thread, THREAD_GONE);
	else
		thread_set_state(thread, THREAD_PARKED);
}

/*
 * Wait for the stop of a thread that was told to stop.  The tracer's tick
 * interrupts the wait, and then we look whether it can answer at all.
 */
static int await(struct thread *thread)
{
	struct stop stop;
	int r;

	if (thread->vforking)
		return 0;
	do {
		r = stop_wait(thread->tid, true, &stop);
		if (r == -EINTR && is_deaf(thread->tid)) {
			/* To wait for it each time takes a tick. */
			thread->ended = thread_is_in_state(thread->tid, "Z");
			return 0;
		}
	} while (r == -EINTR);

	if (r == -ECHILD)
		thread_set_state(thread, THREAD_GONE);
	else if (r == 0)
		park(thread, &stop);
	return r == -ECHILD ? 0 : r;
}

int thread_interrupt(struct thread *thread)
{
	int r = trace_interrupt(thread->tid);

	thread->prodded |= r == 0;
	return r;
}

/* -ESRCH: it is dying; its end will be told to whoever waits next. */
static bool interrupt(struct thread *thread, enum hold hold)
{
	if (thread->ended ||
	    (thread->in_call &&
	     (hold == HOLD_USER || (hold == HOLD_ARM && thread->call_stays))))
		return false;
	return thread->state == THREAD_NEW ||
	       (thread->state == THREAD_RUNNING &&
		thread_interrupt(thread) == 0);
}

int process_hold(struct process *process, const struct thread *except,
		 enum hold hold)
{
	int first = 0;

	table_for_each(&process->threads, s)
	{
		struct thread *thread = s->value;

		thread->told = thread != except && interrupt(thread, hold);
	}
	table_for_each(&process->threads, s)
	{
		struct thread *thread = s->value;

		if (thread->told)
			first = first_error(first, await(thread));
	}
	return first;
}

bool process_await_calls(const struct process *process,
			 bool (*is_meant)(int number))
{
	enum { TURNS = 10000 }; /* of the processor */
	bool any = false;

	table_for_each(&process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread->state != THREAD_RUNNING || !thread->in_call ||
		    !is_meant(thread->last_call))
			continue;
		any = true;
		for (int i = 0;
		     i < TURNS && !thread_is_in_state(thread->tid, "tZX"); i++)
			sched_yield();
	}
	return any;
}

const char *thread_comm(struct thread *thread)
{
	char path[64];
	size_t length;

	if (thread->comm[0])
		return thread->comm;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", thread->tgid,
		 thread->tid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	if (!file || !fgets(thread->comm, sizeof(thread->comm), file))
		return "";
	/* A name may hold newlines; only the last one is the kernel's. */
	length = strlen(thread->comm);
	if (length && thread->comm[length - 1] == '\n')
		thread->comm[length - 1] = '\0';
	return thread->comm;
}
