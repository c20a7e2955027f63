/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/syscall.h>

#include "tracer/call.h"
#include "tracer/fault.h"
#include "tracer/growth.h"
#include "tracer/lift.h"
#include "tracer/mend.h"
#include "tracer/partial.h"
#include "tracer/process/kept.h"
#include "tracer/remote.h"
#include "tracer/seccomp.h"
#include "tracer/session.h"
#include "tracer/survive.h"

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
	if ((int64_t)regs.rax == RESTART_BLOCK ||
	    regs.orig_rax == SYS_restart_syscall) {
		regs.rax = (uint64_t)inflight->call.number;
		regs.orig_rax = (uint64_t)-1;
		regs.rip -= 2;
		r = trace_set_regs(thread->tid, &regs);
	}
	session_call_forget(session, thread);
	return r;
}

/* A stop at a system call: is it the call's end? */
static bool stands_at_exit(const struct thread *thread)
{
	struct ptrace_syscall_info info = { 0 };

	return thread->stop.kind == STOP_SYSCALL &&
	       trace_syscall_info(thread->tid, &info) == 0 &&
	       info.op != PTRACE_SYSCALL_INFO_ENTRY;
}

/* A call of the thread whose buffers we moved has ended or been interrupted:
 * give it back what is its own. */
static void settle_call(struct session *session, struct thread *thread)
{
	if (stands_at_exit(thread)) {
		/* It is resumed or detached by who asked. */
		struct verdict verdict = session_call(session, thread);

		(void)verdict;
	}
	if (thread->call && thread->call->restarts)
		(void)!remake_call(session, thread);
}

/* Is it stopped for a signal that came instead of a fault of ours? */
static bool is_replaced(const struct session *session,
			const struct thread *thread, siginfo_t *info)
{
	return thread->stop.kind == STOP_SIGNAL &&
	       thread->stop.value == SIGSEGV &&
	       trace_get_siginfo(thread->tid, info) == 0 &&
	       session_replaced(session, thread, info);
}

static bool needs_scratch(const struct session *session,
			  const struct thread *thread)
{
	siginfo_t info;

	return thread->call || thread->kept ||
	       (thread_is_stopped(thread) &&
		(fault_is_told(session, thread) || fault_waits(thread) ||
		 is_replaced(session, thread, &info)));
}

/*
 * A thread that is deaf in a moved call needs its room yet, and one whose
 * fault will be told the memory for putting a disposition back.
 */
static bool scratch_is_needed(struct session *session)
{
	struct thread *last =
		process_thread(session->process, session->scratch_needed_by);

	/* Asked for each thread that leaves: of a thousand the same one. */
	if (last && needs_scratch(session, last))
		return true;
	table_for_each(&session->process->threads, s)
	{
		struct thread *thread = s->value;

		if (!needs_scratch(session, thread))
			continue;
		session->scratch_needed_by = thread->tid;
		return true;
	}
	return false;
}

/* Between exec and entry point: the page of that one is closed, too. */
static int open_entry(struct session *session)
{
	struct thread *injector = inject_thread(session->process);

	if (!session->entry || !session->process->threads.count)
		return 0;
	/* It is just there: its fault is to be told first. */
	if (!injector || fault_waits(injector))
		return -EAGAIN;
	return entry_leave(session, injector);
}

int leave_prepare(struct session *session)
{
	struct injection injection;
	struct thread *injector;
	bool needed;
	int r = process_hold(session->process, NULL, HOLD_ALL);

	session->parked = true;
	/* Later closed.count is 0; the masks that we know hold all the same. */
	session->left_armed |= session->guard.closed.count > 0;
	if (r < 0)
		return r;
	table_for_each(&session->process->threads, s)
	{
		struct thread *thread = s->value;

		if (thread->call && thread_is_stopped(thread))
			settle_call(session, thread);
		r = first_error(r, survive_shed(session, thread));
	}
	if (r == 0)
		r = open_entry(session);
	if (r == 0)
		r = growth_look(session, NULL);
	if (r < 0)
		return r;
	if (!session->guard.closed.count && !session->process->scratch.start)
		return 0;
	injector = inject_thread(session->process);
	if (survive_busy(session))
		return -EAGAIN;
	if (!injector)
		return session->process->threads.count ? -EAGAIN : 0;
	/* An injection blocks the signals that this looks for, and may keep
	 * one of its own. */
	needed = scratch_is_needed(session);
	r = inject_begin(&injection, injector);
	if (r == 0)
		r = guard_open(&session->guard, &injection, 0, UINT64_MAX);
	if (r == 0)
		r = growth_trim(session, &injection);
	if (r == 0 && session->left_armed)
		r = mend(session, &injection);
	if (r == 0)
		r = survive_remove(session, &injection);
	if (r == 0 && !needed && !injector->kept)
		r = inject_unscratch(&injection);
	return first_error(r, inject_end(&injection));
}

/* A fault on a page that is open by now will not come again. */
static void answer_fault(struct session *session, struct thread *thread)
{
	siginfo_t info;

	if (is_replaced(session, thread, &info)) {
		if (session_keep(session, thread, &info) == KEEP_SWALLOWED)
			thread->stop.value = 0;
		return;
	}
	if (!fault_is_told(session, thread) ||
	    trace_get_siginfo(thread->tid, &info) < 0)
		return;
	if (!entry_reached(session, &info))
		(void)!session_unforce(session, thread, SIGSEGV);
	else if (entry_leave(session, thread) < 0)
		return;
	thread->stop.value = 0;
}

/* What leave_prepare() had to leave for those that come late. */
static void take_scratch(struct session *session, struct thread *thread)
{
	bool answered = thread->stop.kind == STOP_SIGNAL && !thread->stop.value;
	struct injection injection;
	int r;

	if (!session->process->scratch.start ||
	    (!inject_possible(thread) && !answered) ||
	    scratch_is_needed(session))
		return;
	r = inject_begin(&injection, thread);
	if (r == 0)
		r = inject_unscratch(&injection);
	(void)!first_error(r, inject_end(&injection));
}

static void give_kept(struct thread *thread)
{
	bool answered = thread->stop.kind == STOP_SIGNAL && !thread->stop.value;

	if (inject_possible(thread) || answered)
		(void)!kept_return(thread);
	else
		kept_send(thread);
}

int leave_settle(struct session *session, struct thread *thread, int *signal)
{
	int r;

	*signal = 0;
	if (thread->call)
		settle_call(session, thread);
	else
		remote_settle(session, thread);
	if (partial_stays(session, thread))
		return LEAVE_LATER;
	/* The call may be the one that set the mask, which nobody asked for
	 * yet; no fault changes it here. */
	if (thread->stop.kind == STOP_SYSCALL)
		lift_learn(thread);
	if (fault_waits(thread))
		return LEAVE_LATER;
	answer_fault(session, thread);
	(void)!lift_end(thread); /* or it is dying */
	give_kept(thread);
	take_scratch(session, thread);
	switch (thread->stop.kind) {
	case STOP_SIGNAL:
		*signal = thread->stop.value;
		if (*signal && session_ignores(session, thread, *signal))
			session_restart(session, thread, true);
		break;
	case STOP_SYSCALL:
	case STOP_INTERRUPT:
		session_restart(session, thread, false);
		if (thread->partial)
			return LEAVE_LATER;
		break;
	case STOP_CLONE:
		session_clone(session, thread);
		break;
	case STOP_SECCOMP:
		r = seccomp_pass(thread->tid, session->process->filters);
		return r < 0 ? r : 0;
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
	return 0;
}

int leave_thread(struct session *session, struct thread *thread)
{
	int signal, r = leave_settle(session, thread, &signal);

	if (r != 0)
		return r;
	if (thread->stop.kind == STOP_SYSCALL)
		(void)!call_cancel(thread);
	return trace_detach(thread->tid, signal);
}
