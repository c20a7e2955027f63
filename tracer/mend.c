/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/syscall.h>

#include "tracer/mend.h"
#include "tracer/process/status.h"
#include "tracer/survive.h"

static bool is_handler(uint64_t handler)
{
	return handler != (uint64_t)(uintptr_t)SIG_DFL &&
	       handler != (uint64_t)(uintptr_t)SIG_IGN;
}

/* It may be another one by now, which we hear of at the end of the call. */
static bool is_being_set(const struct process *process)
{
	table_for_each(&process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread->in_call && thread->last_call == SYS_rt_sigaction)
			return true;
	}
	return false;
}

static bool is_lost(const struct session *session, const struct thread *thread,
		    struct disposition *ret)
{
	struct status_signals now;

	*ret = survive_actual(thread, SIGSEGV);
	return session->process->dispositions.known && !thread->apart &&
	       is_handler(ret->handler) &&
	       status_signals(thread->tid, &now) == 0 &&
	       !(now.caught & signal_bit(SIGSEGV)) &&
	       !is_being_set(session->process);
}

int mend(struct session *session, struct injection *injection)
{
	struct disposition d;

	return is_lost(session, injection->thread, &d)
		       ? inject_disposition(injection, SIGSEGV, &d)
		       : 0;
}

/* Can a fault of a thread but @except take the handler? */
static bool may_be_lost(const struct process *process,
			const struct thread *except)
{
	table_for_each(&process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread != except && !thread->apart && !thread->lifted &&
		    (!thread->mask_known || thread->mask & signal_bit(SIGSEGV)))
			return true;
	}
	return false;
}

/*
 * Its own fault, while it blocks SIGSEGV, or for which no frame could be built:
 * the kernel has set the default for it, and so it is to stay.
 */
static bool is_doomed(const struct thread *thread)
{
	siginfo_t info;

	return thread->doomed ||
	       (thread->mask_known && !thread->lifted &&
		thread->mask & signal_bit(SIGSEGV) &&
		trace_get_siginfo(thread->tid, &info) == 0 && info.si_code > 0);
}

/* A fault of ours that another thread had was handled since. */
static bool was_mended(const struct thread *thread)
{
	struct status_signals now;

	return status_signals(thread->tid, &now) == 0 &&
	       now.caught & signal_bit(SIGSEGV);
}

static int set_default(struct session *session, struct injection *injection)
{
	const struct disposition none = { 0 };

	(void)session;
	return inject_disposition(injection, SIGSEGV, &none);
}

typedef int injected(struct session *session, struct injection *injection);

/* An injection loses the signal of the stop. */
static int inject_here(struct session *session, struct thread *thread,
		       injected *work)
{
	struct injection injection;
	siginfo_t info;
	int r = trace_get_siginfo(thread->tid, &info);

	if (r == 0)
		r = inject_begin(&injection, thread);
	if (r < 0)
		return r;
	r = work(session, &injection);
	if (r == 0)
		r = inject_signal(&injection, &info);
	thread->owed = info.si_signo;
	r = first_error(r, inject_end(&injection));
	return r < 0 ? r : MEND_QUEUED;
}

int mend_prepare(struct session *session, struct thread *thread)
{
	bool doomed = is_doomed(thread);
	injected *work = doomed ? set_default : mend;
	struct disposition d;
	struct thread *other;
	int r;

	if (thread->apart || !may_be_lost(session->process, thread))
		return 0;
	r = process_hold(session->process, thread, HOLD_USER);
	session->parked = true;
	if (r < 0)
		return r;
	if (!(doomed ? was_mended(thread) : is_lost(session, thread, &d)))
		return 1;
	thread->doomed = doomed; /* also when it is told again */
	other = inject_thread(session->process);
	if (!other || other->apart)
		return inject_here(session, thread, work);
	r = session_inject(session, other, work);
	return r < 0 ? r : 1;
}

static void doom(struct thread *thread)
{
	siginfo_t info;

	if (thread->stop.kind == STOP_SIGNAL && thread->stop.value == SIGSEGV &&
	    trace_get_siginfo(thread->tid, &info) == 0 &&
	    info.si_code == SI_KERNEL)
		thread->doomed = true;
}

int mend_deliver(struct session *session, struct thread *thread, int signal)
{
	int r = inject_deliver(thread, signal, &thread->stop);

	/* Whether it stands in a handler matters to who lifts its mask. */
	thread->enters = true;
	if (r < 0 ||
	    (thread->stop.kind == STOP_SIGNAL && thread->stop.value == SIGTRAP))
		return r;
	/* No frame could be built: it is about to die. */
	if (signal == SIGSEGV)
		doom(thread);
	thread_set_state(thread, THREAD_PARKED);
	session->parked = true;
	return 1;
}
