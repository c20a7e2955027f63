/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "tracer/process/stop.h"

static enum stop_kind event_kind(int event, int signal)
{
	switch (event) {
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		return STOP_CLONE;
	case PTRACE_EVENT_VFORK_DONE:
		return STOP_VFORK_DONE;
	case PTRACE_EVENT_EXEC:
		return STOP_EXEC;
	case PTRACE_EVENT_SECCOMP:
		return STOP_SECCOMP;
	case PTRACE_EVENT_STOP:
		return signal == SIGTRAP ? STOP_INTERRUPT : STOP_GROUP;
	default:
		return STOP_OTHER;
	}
}

struct stop stop_classify(pid_t tid, int status)
{
	struct stop stop = { .tid = tid, .status = status };
	int signal = WSTOPSIG(status), event = status >> 16;

	if (WIFEXITED(status)) {
		stop.kind = STOP_EXITED;
		stop.value = WEXITSTATUS(status);
	} else if (WIFSIGNALED(status)) {
		stop.kind = STOP_KILLED;
		stop.value = WTERMSIG(status);
	} else if (event) {
		stop.kind = event_kind(event, signal);
		stop.value = stop.kind == STOP_GROUP ? signal : event;
	} else if (signal == (SIGTRAP | 0x80)) {
		stop.kind = STOP_SYSCALL; /* PTRACE_O_TRACESYSGOOD */
	} else {
		stop.kind = STOP_SIGNAL;
		stop.value = signal;
	}
	return stop;
}

int stop_wait(pid_t tid, bool block, struct stop *ret)
{
	int status;
	pid_t got = waitpid(tid, &status, __WALL | (block ? 0 : WNOHANG));

	if (got < 0)
		return -errno;
	if (got == 0)
		return -EAGAIN;
	*ret = stop_classify(got, status);
	return 0;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int stop_wait_for(pid_t tid, uint64_t ns, struct stop *ret)
{
	enum { YIELDS = 50, NAP = 50000 /* ns */ };
	uint64_t end = now() + ns;
	int r;

	for (int i = 0;; i++) {
		r = stop_wait(tid, false, ret);
		if ((r != -EAGAIN && r != -EINTR) || now() >= end)
			return r == -EINTR ? -EAGAIN : r;
		if (i < YIELDS)
			sched_yield();
		else
			nanosleep(&(struct timespec){ .tv_nsec = NAP }, NULL);
	}
}
