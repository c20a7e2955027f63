/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/confined.h"

static const char sentence[] =
	"the program confines itself (seccomp), and without CAP_SYS_ADMIN its "
	"filter would judge, and may kill it for, what cls does in it";

static bool may_suspend(const struct thread *thread)
{
	unsigned long options = thread->process->options;

	if (trace_options(thread->tid, options | TRACE_SUSPEND_SECCOMP) < 0)
		return false;
	(void)!trace_options(thread->tid, options);
	return true;
}

static uint64_t filters(pid_t tid)
{
	return process_status(tid, "Seccomp_filters", 10, 0);
}

bool confined(const struct thread *thread)
{
	uint64_t mode = process_status(thread->tid, "Seccomp", 10, 0);

	if (mode == SECCOMP_MODE_DISABLED ||
	    (mode == SECCOMP_MODE_FILTER &&
	     filters(thread->tid) <=
		     filters(getpid()) + thread->process->filters))
		return false;
	return !may_suspend(thread);
}

bool confined_any(const struct process *process)
{
	table_for_each(&process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread_is_stopped(thread) && confined(thread))
			return true;
	}
	return false;
}

static bool confines(const struct call *call)
{
	switch (call->number) {
	case SYS_prctl:
		return call->args[0] == PR_SET_SECCOMP;
	case SYS_seccomp:
		return call->args[0] == SECCOMP_SET_MODE_STRICT ||
		       call->args[0] == SECCOMP_SET_MODE_FILTER;
	default:
		return false;
	}
}

/* A process with a filter, and ours stays, cannot go over to it. */
static bool wants_strict(const struct call *call)
{
	return (call->number == SYS_prctl && call->args[0] == PR_SET_SECCOMP &&
		call->args[1] == SECCOMP_MODE_STRICT) ||
	       (call->number == SYS_seccomp &&
		call->args[0] == SECCOMP_SET_MODE_STRICT);
}

int confined_enter(struct session *session, struct thread *thread,
		   const struct call *call)
{
	int r;

	if (session->process->filters && wants_strict(call))
		report_warning(session,
			       "the kernel refuses SECCOMP_MODE_STRICT to "
			       "process %d, which has a filter of ours: with "
			       "--survive it would have none",
			       session->process->pid);
	if (!confines(call) || may_suspend(thread))
		return 0;
	r = leave_prepare(session);
	if (r < 0)
		return r;
	report_warning(session, "%s: it was let go before", sentence);
	session->phase = PHASE_DRAINING;
	session->end = "detached";
	thread_set_state(thread, THREAD_PARKED);
	return 0;
}

void confined_late(struct session *session)
{
	if (!session->log->began) {
		error_set(session->err, -EPERM, "%s", sentence);
		session_fail(session, -EPERM, __func__);
		return;
	}
	report_warning(session, "%s: it is let go, with %ju kB of ours in it",
		       sentence,
		       (uintmax_t)session->process->scratch.size >> 10);
	session->process->scratch = (struct scratch){ 0 };
	session->confined = true;
}
