/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "tests/unit/kernel_child.h"

enum { TURNS = 10000, NAP = 1000 /* us */, ALARM = 30 /* s */ };

pid_t child_start(void (*body)(struct shared *shared), struct shared *shared)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(ALARM);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
	body(shared);
	_exit(0);
}

void child_spin(struct shared *shared)
{
	shared->ready = 1;
	while (!shared->go)
		__builtin_ia32_pause();
}

void child_wait_ready(const struct shared *shared)
{
	for (int i = 0; i < TURNS && !shared->ready; i++)
		usleep(NAP);
	assert_true(shared->ready);
}

static bool sleeps_in(pid_t pid, pid_t tid, long number)
{
	char path[64], line[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	/* "running" while it is not asleep */
	return file && fgets(line, sizeof(line), file) && line[0] >= '0' &&
	       line[0] <= '9' && strtol(line, NULL, 10) == number;
}

void child_wait_in(pid_t pid, const volatile pid_t *tid, long number)
{
	for (int i = 0; i < TURNS; i++) {
		if (*tid && sleeps_in(pid, *tid, number))
			return;
		usleep(NAP);
	}
	fail_msg("%d never slept in call %ld", pid, number);
}

void child_seize(pid_t pid, const struct shared *shared, unsigned long options)
{
	child_wait_ready(shared);
	assert_int_equal(trace_seize(pid, options), 0);
	assert_int_equal(trace_interrupt(pid), 0);
	assert_int_equal(child_stop(pid).kind, STOP_INTERRUPT);
}

struct stop child_stop(pid_t pid)
{
	struct stop stop;
	int r;

	do
		r = stop_wait(pid, true, &stop);
	while (r == -EINTR);
	assert_int_equal(r, 0);
	return stop;
}

unsigned child_other_task_flags(pid_t pid)
{
	char path[300], line[512] = "", *end;
	struct dirent *entry;
	unsigned flags = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || tid == pid)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
		_cleanup_(fclosep) FILE *file = fopen(path, "re");
		if (!file || !fgets(line, sizeof(line), file))
			continue;
		end = strrchr(line, ')');
		/* state ppid pgrp session tty tpgid flags */
		if (end)
			sscanf(end, ") %*c %*d %*d %*d %*d %*d %u", &flags);
	}
	closedir(dir);
	return flags;
}
