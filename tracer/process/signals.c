/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/syscall.h>

#include "tracer/process/process.h"

static bool default_ignores(int signal)
{
	return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG ||
	       signal == SIGWINCH;
}

bool disposition_ignores(const struct dispositions *dispositions, int signal)
{
	uint64_t handler = dispositions->signal[signal].handler;

	if (handler == (uint64_t)(uintptr_t)SIG_DFL)
		return default_ignores(signal);
	return handler == (uint64_t)(uintptr_t)SIG_IGN;
}

bool disposition_handles(const struct dispositions *dispositions, int signal)
{
	return dispositions->signal[signal].handler >
	       (uint64_t)(uintptr_t)SIG_IGN;
}

uint64_t disposition_mask(const struct dispositions *dispositions, int signal,
			  uint64_t mask)
{
	const struct disposition *d = &dispositions->signal[signal];

	mask |= d->mask;
	if (!(d->flags & SA_NODEFER))
		mask |= signal_bit(signal);
	return mask;
}

void disposition_given(struct dispositions *dispositions, int signal)
{
	struct disposition *d = &dispositions->signal[signal];

	if (d->flags & SA_RESETHAND)
		d->handler = (uint64_t)(uintptr_t)SIG_DFL;
}

static bool sets_disposition(int number)
{
	return number == SYS_rt_sigaction;
}

void process_learn_disposition(struct process *process, int signal)
{
	struct user_regs_struct regs;

	if (!process_await_calls(process, sets_disposition))
		return;
	table_for_each(&process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread->state == THREAD_RUNNING && thread->in_call &&
		    sets_disposition(thread->last_call) && !thread->apart &&
		    thread->last_args[0] == (uint64_t)signal &&
		    thread->last_args[1] &&
		    trace_get_regs(thread->tid, &regs) == 0 && regs.rax == 0)
			process->dispositions.signal[signal] = thread->pending;
	}
}
