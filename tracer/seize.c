/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/directory.h"
#include "tracer/family.h"
#include "tracer/process/living.h"
#include "tracer/process/permission.h"
#include "tracer/session.h"

/*
 * Workers of io_uring and the like live in the process's task list but never
 * run its code; stopped, they have no registers to speak of.
 */
static bool is_kernel_worker(pid_t pid, pid_t tid)
{
	enum { WORKER = 0x10 | 0x4000 /* PF_IO_WORKER, PF_USER_WORKER */ };
	char path[64], line[512], *end;
	unsigned flags = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return false;
	end = strrchr(line, ')');
	/* state ppid pgrp session tty tpgid flags */
	return end &&
	       sscanf(end, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & WORKER;
}

/*
 * A leader that is a zombie cannot be seized (EPERM).  It is kept as one that
 * does not answer, as if it had ended later: an exec of another thread gives
 * its number back to life.
 */
static int seize_thread(struct process *process, pid_t tid)
{
	struct thread *thread;
	int r = trace_seize(tid, process->options);
	bool ended = r == -EPERM && tid == process->pid && !living(tid);

	if (r == 0 || ended)
		r = process_add(process, tid, &thread);
	if (r < 0)
		return r;
	thread->state = THREAD_RUNNING;
	thread->ended = thread->untold = ended;
	return 0;
}

/* One look at the threads; returns how many were new, or -errno. */
static int seize_new(struct process *process)
{
	char path[48];
	struct dirent *entry;
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	_cleanup_(closedirp) DIR *dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int r;

		if (tid <= 0 || process_thread(process, tid) ||
		    is_kernel_worker(process->pid, tid))
			continue;
		r = seize_thread(process, tid);
		/* It died meanwhile; a thread born of a seized one is seized
		 * already, which the kernel calls EPERM. */
		if (r < 0 && r != -ESRCH && r != -EPERM)
			return r;
		if (r == -EPERM && process_is_empty(process) && living(tid))
			return r;
		found += r == 0;
	}
	return found;
}

int seize(struct session *session, pid_t pid, struct error *err)
{
	int r = permission_explain(pid, 0, PERMISSION_YAMA, err);

	if (r < 0)
		return r;
	r = process_new(pid, &session->process);
	if (r < 0)
		return permission_explain(pid, r, PERMISSION_YAMA, err);
	session->process->options = TRACE_OPTIONS;
	if (session->options->exit_kill)
		session->process->options |= TRACE_EXIT_KILL;
	process_note_seccomp(session->process);

	r = family_log(session, err);
	if (r < 0)
		return r;

	do
		r = seize_new(session->process);
	while (r > 0);
	if (r < 0 || process_is_empty(session->process))
		return permission_explain(pid, r < 0 ? r : -ESRCH,
					  PERMISSION_YAMA, err);
	/* It may have exec'ed before it was ours: the memory that we opened
	 * would be that of the old program. */
	r = process_exec(session->process);
	return r < 0 ? permission_explain(pid, r, PERMISSION_YAMA, err) : 0;
}
