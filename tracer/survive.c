/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracer/survive.h"

static const uint64_t by_default = (uint64_t)(uintptr_t)SIG_DFL;
static const uint64_t ignored = (uint64_t)(uintptr_t)SIG_IGN;

static struct survival *survival_of(const struct session *session)
{
	return &session->process->survival;
}

/* What the program believes. */
static struct disposition *believed(const struct session *session)
{
	return &session->process->dispositions.signal[SIGSEGV];
}

int survive_prepare(struct session *session, struct injection *injection)
{
	int r;

	session->guard.survival = survival_of(session);
	if (!session->survives || survival_of(session)->shared)
		return 0;
	r = survival_map(injection);
	if (r == 0 || r == -ESRCH)
		return r;
	session->survives = false;
	if (session->log->began)
		report_warning(session,
			       "if the tracer is killed now, the program will "
			       "die when it touches guarded memory: %s",
			       strerror(-r));
	return 0;
}

static bool anybody_asks(const struct session *session)
{
	table_for_each(&session->process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread->asks)
			return true;
	}
	return false;
}

/* Of what the program set the kernel has kept what it knows: ask it. */
int survive_install(struct session *session, struct injection *injection)
{
	struct survival *survival = survival_of(session);
	int r;

	if (!survival->shared || survival->installed || anybody_asks(session))
		return 0;
	r = inject_ask_disposition(injection, SIGSEGV, believed(session));
	return r < 0 ? r : survival_install(injection, believed(session));
}

int survive_remove(struct session *session, struct injection *injection)
{
	if (!survival_of(session)->installed)
		return 0;
	return survival_remove(injection, believed(session));
}

struct disposition survive_actual(const struct thread *thread, int signal)
{
	const struct process *process = thread->process;
	const struct disposition *d = &process->dispositions.signal[signal];
	struct disposition actual = *d;

	if (signal == SIGSEGV && process->survival.installed && !thread->apart)
		survival_disposition(process->scratch.start, d, &actual);
	return actual;
}

/* What is ignored stays so over an exec; a handler of ours does not. */
static bool asks(const struct session *session, int number, uint64_t signal)
{
	switch (number) {
	case SYS_rt_sigaction:
		return signal == SIGSEGV;
	case SYS_execve:
	case SYS_execveat:
		return believed(session)->handler == ignored;
	default:
		return false;
	}
}

int survive_enter(struct session *session, struct thread *thread, int number,
		  uint64_t signal)
{
	if (!survival_of(session)->shared || thread->apart ||
	    !asks(session, number, signal))
		return 0;
	thread->asks = true;
	return survival_of(session)->installed
		       ? session_inject(session, thread, survive_remove)
		       : 0;
}

int survive_leave(struct session *session, struct thread *thread)
{
	if (!thread->asks)
		return 0;
	thread->asks = false;
	if (session->phase != PHASE_ARMED || survival_of(session)->installed ||
	    anybody_asks(session))
		return 0;
	return session_inject(session, thread, survive_install);
}

/* The kernel ends the process by it, and a core file tells the truth. */
static int send_again(struct session *session, struct thread *thread,
		      const siginfo_t *info)
{
	struct injection injection;
	int r = inject_begin(&injection, thread);

	*believed(session) = (struct disposition){ .handler = by_default };
	if (r == 0)
		r = survive_remove(session, &injection);
	if (r == 0)
		r = inject_signal(&injection, info);
	thread->owed = info->si_signo;
	return first_error(r, inject_end(&injection));
}

int survive_deliver(struct session *session, struct thread *thread)
{
	uint64_t handler = believed(session)->handler;
	siginfo_t info;
	int r;

	if (!survival_of(session)->installed || thread->apart ||
	    handler > ignored)
		return 1;
	r = trace_get_siginfo(thread->tid, &info);
	if (r < 0)
		return r;
	if (handler == by_default || info.si_code > 0)
		return send_again(session, thread, &info);
	session_restart(session, thread, true);
	return 0;
}

void survive_birth(struct session *session, const struct thread *parent,
		   struct thread *child)
{
	long r;

	if (child->tgid == session->process->pid)
		return;
	r = syscall(SYS_kcmp, parent->tid, child->tid, KCMP_SIGHAND, 0, 0);
	child->apart = parent->apart || r != 0;
	child->sheds = child->apart && survival_of(session)->installed;
}

int survive_shed(struct session *session, struct thread *child)
{
	struct injection injection;
	int r;

	if (!child->sheds || !inject_possible(child))
		return 0;
	child->sheds = false;
	r = inject_begin(&injection, child);
	if (r == 0)
		r = survival_clean(&injection);
	r = first_error(r, inject_end(&injection));
	return r == -ESRCH ? 0 : r;
}

bool survive_busy(const struct session *session)
{
	uint64_t code = session->process->scratch.start;

	if (!survival_of(session)->shared)
		return false;
	table_for_each(&session->process->threads, s)
	{
		const struct thread *thread = s->value;
		struct user_regs_struct regs;

		if (thread_is_stopped(thread) &&
		    trace_get_regs(thread->tid, &regs) == 0 &&
		    page_down(regs.rip) == code)
			return true;
	}
	return false;
}
