/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/session.h"

/*
 * The way to the entry point.  Its page may not be executed until the loader
 * has mapped the libraries and jumps there.  (Debug registers do not work in
 * every virtual machine, and a breakpoint would change the program's text.)
 */

static uint64_t entry_point(pid_t pid)
{
	char path[48];
	uint64_t pair[2];

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	while (file && fread(pair, sizeof(pair), 1, file) == 1)
		if (pair[0] == 9 /* AT_ENTRY */)
			return pair[1];
	return 0;
}

/* An exec stop lies inside execve(2); nothing can be injected there. */
static int leave_execve(struct thread *thread)
{
	struct stop stop;
	int r = trace_resume(thread->tid, TRACE_SYSCALL, 0);

	if (r == 0)
		r = thread_wait(thread, &stop);
	if (r < 0)
		return r;
	thread->stop = stop;
	return stop.kind == STOP_SYSCALL ? 0 : -EAGAIN;
}

static int set_rights(struct session *session, struct thread *thread, int prot)
{
	struct injection injection;
	uint64_t page = page_down(session->entry);
	int r = inject_begin(&injection, thread);

	if (r == 0)
		r = inject_protect(&injection, page, page + PAGE, prot);
	return first_error(r, inject_end(&injection));
}

int entry_await(struct session *session, struct thread *thread)
{
	struct process *process = session->process;
	const struct mapping *m;
	int r = leave_execve(thread);

	session->entry = entry_point(process_proc(process));
	m = maps_find(process->maps, session->entry);
	if (r == 0 && !m)
		r = -ENOENT;
	if (r == 0)
		r = trace_get_mask(thread->tid, &session->entry_mask);
	if (r < 0) {
		session->entry = 0;
		return r;
	}
	session->entry_prot = m->prot;
	/* Forced where it is blocked or ignored, SIGSEGV would be reset. */
	session->entry_ignored = process_status(process->pid, "SigIgn", 16, 0) &
				 signal_bit(SIGSEGV);
	r = set_rights(session, thread, m->prot & ~PROT_EXEC);
	if (r == 0)
		r = trace_set_mask(thread->tid,
				   session->entry_mask & ~signal_bit(SIGSEGV));
	return r;
}

bool entry_reached(const struct session *session, const siginfo_t *info)
{
	return session->entry && info->si_signo == SIGSEGV &&
	       info->si_code > 0 &&
	       page_down((uint64_t)(uintptr_t)info->si_addr) ==
		       page_down(session->entry);
}

int entry_leave(struct session *session, struct thread *thread)
{
	const struct disposition ignore = {
		.handler = (uint64_t)(uintptr_t)SIG_IGN,
	};
	struct injection injection;
	int r = 0;

	if (!session->entry)
		return 0;
	r = set_rights(session, thread, session->entry_prot);
	session->entry = 0;
	if (r == 0)
		r = trace_set_mask(thread->tid, session->entry_mask);
	if (r < 0 || !session->entry_ignored)
		return r;
	r = inject_begin(&injection, thread);
	if (r == 0)
		r = inject_scratch(&injection);
	if (r == 0)
		r = inject_disposition(&injection, SIGSEGV, &ignore);
	return first_error(r, inject_end(&injection));
}
