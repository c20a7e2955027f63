/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/syscall.h>

#include "tracer/call.h"
#include "tracer/session.h"

enum { RESTART_BLOCK = -516 };

/*
 * The kernel would go on with pointers into our room.  The program's own
 * call is made again instead.
 */
static int remake_call(struct session *session, struct thread *thread)
{
	struct inflight *inflight = thread->call;
	struct user_regs_struct regs;
	int r = trace_get_regs(thread->tid, &regs);

	if (r < 0)
		return r;
	if ((int64_t)regs.rax == RESTART_BLOCK) {
		regs.rax = (uint64_t)inflight->call.number;
		regs.orig_rax = (uint64_t)-1;
		regs.rip -= 2;
		r = trace_set_regs(thread->tid, &regs);
	}
	session_call_forget(session, thread);
	return r;
}

/* A call of the thread whose buffers we moved has ended or been interrupted:
 * give it back what is its own. */
static void settle_call(struct session *session, struct thread *thread)
{
	if (thread->stop.kind == STOP_SYSCALL) {
		struct verdict verdict = session_call(session, thread);

		(void)verdict;
	}
	if (thread->call && thread->call->restarts)
		(void)!remake_call(session, thread);
}

static bool calls_are_settled(const struct session *session)
{
	table_for_each(&session->process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread->call)
			return false;
	}
	return true;
}

int leave_prepare(struct session *session)
{
	struct injection injection;
	struct thread *injector;
	int r = process_hold(session->process, NULL, HOLD_ALL);

	session->parked = true;
	if (r < 0)
		return r;
	table_for_each(&session->process->threads, s)
	{
		struct thread *thread = s->value;

		if (thread->call && thread_is_stopped(thread))
			settle_call(session, thread);
	}
	if (!session->guard.closed.count && !session->process->scratch.start)
		return 0;
	injector = inject_thread(session->process);
	if (!injector)
		return session->process->threads.count ? -EAGAIN : 0;
	r = inject_begin(&injection, injector);
	if (r == 0)
		r = guard_open(&session->guard, &injection, 0, UINT64_MAX);
	/* A thread that is deaf in a moved call still needs its room. */
	if (r == 0 && calls_are_settled(session))
		r = inject_unscratch(&injection);
	return first_error(r, inject_end(&injection));
}

/* A fault on a page that is open by now will not come again. */
static bool is_answered(struct session *session, struct thread *thread)
{
	siginfo_t info;
	uint64_t addr;

	if (thread->stop.value != SIGSEGV ||
	    trace_get_siginfo(thread->tid, &info) < 0)
		return false;
	if (entry_reached(session, &info))
		return entry_leave(session, thread) == 0;
	addr = (uint64_t)(uintptr_t)info.si_addr;
	if (info.si_code <= 0 || !guard_was_closed(&session->guard, addr))
		return false;
	(void)!session_unforce(session, thread, SIGSEGV);
	return true;
}

/*
 * An interrupt is told before a signal: a fault on a page that was closed may
 * still be queued behind it, and would kill the thread when we are gone.
 */
static bool fault_waits(const struct thread *thread)
{
	return thread->stop.kind != STOP_SIGNAL &&
	       process_status(thread->tid, "SigPnd", 16, 0) &
		       signal_bit(SIGSEGV);
}

int leave_thread(struct session *session, struct thread *thread)
{
	int signal = 0;

	if (thread->call)
		settle_call(session, thread);
	if (fault_waits(thread))
		return LEAVE_LATER;
	switch (thread->stop.kind) {
	case STOP_SIGNAL:
		if (!is_answered(session, thread))
			signal = thread->stop.value;
		break;
	case STOP_SYSCALL:
		(void)!call_cancel(thread);
		session_restart(session, thread, false);
		break;
	case STOP_INTERRUPT:
		session_restart(session, thread, false);
		break;
	case STOP_CLONE:
		session_clone(session, thread);
		break;
	case STOP_NONE:
	case STOP_EXITED:
	case STOP_KILLED:
	case STOP_GROUP:
	case STOP_VFORK_DONE:
	case STOP_EXEC:
	case STOP_OTHER:
	default:
		break;
	}
	if (thread->restop)
		syscall(SYS_tgkill, thread->tgid, thread->tid, SIGSTOP);
	return trace_detach(thread->tid, signal);
}
