/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * status - what /proc/PID/status and /proc/PID/stat tell of a process
 */

#include <sys/types.h>

#include "base/macro.h"

struct status {
	char name[64]; /* its comm, as the kernel escapes it */
	char state;    /* R S D T t Z X I */
	bool kernel_thread;
	bool shadow_stack;  /* in force for this thread */
	pid_t tgid, tracer; /* tracer 0: none, or one we cannot see */
	/* @pid, and its process, as its own pid namespace counts; 0 not known
	 */
	pid_t inner, inner_tgid;
	uid_t uid[4]; /* real, effective, saved, file system */
	gid_t gid[4];
	int seccomp;	       /* SECCOMP_MODE_* */
	uint64_t capabilities; /* effective, a bit each */
};

/* Of a thread: signal n is bit n-1. */
struct status_signals {
	uint64_t pending, shared; /* waiting for it, for its process */
	uint64_t blocked, ignored, caught;
};

/* 0, or -errno and nothing set: it is gone. */
int status_signals(pid_t tid, struct status_signals *ret) _must_check_;

/* @pid may be a tid.  0 or -errno: -ENOENT or -ESRCH where there is none. */
int status_read(pid_t pid, struct status *ret) _must_check_;
