/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/jobs.h"

static bool stops(pid_t tid, int signal)
{
	if (signal == SIGSTOP)
		return true;
	if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
		return false;
	return !((process_status(tid, "SigCgt", 16, 0) |
		  process_status(tid, "SigIgn", 16, 0)) &
		 signal_bit(signal));
}

void jobs_stop(struct session *session, struct thread *thread, int signal)
{
	if (!stops(thread->tid, signal))
		return;
	/* As if their stop had come already: it does, before they run. */
	table_for_each(&session->process->threads, s)
	{
		struct thread *other = s->value;

		other->grouped |=
			other != thread && other->tgid == thread->tgid;
	}
}

bool jobs_stopping(struct process *process, const struct thread *except)
{
	table_for_each(&process->threads, s)
	{
		const struct thread *other = s->value;
		siginfo_t info;

		if (other == except)
			continue;
		/* One that runs has no siginfo, nor has one that listens in
		 * its group stop. */
		if (other->regroup ||
		    (other->state == THREAD_RUNNING &&
		     other->stop.kind == STOP_GROUP) ||
		    (trace_get_siginfo(other->tid, &info) == 0 &&
		     stops(other->tid, info.si_signo)))
			return true;
	}
	return false;
}
