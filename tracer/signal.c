/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/syscall.h>

#include "tracer/call.h"
#include "tracer/jobs.h"
#include "tracer/lift.h"
#include "tracer/mend.h"
#include "tracer/partial.h"
#include "tracer/process/kept.h"
#include "tracer/process/status.h"
#include "tracer/raise.h"
#include "tracer/session.h"
#include "tracer/sigframe.h"
#include "tracer/survive.h"

static const struct verdict run = { VERDICT_RUN, 0 };

static struct verdict failed(struct session *session, int r)
{
	if (r < 0 && r != -ESRCH)
		session_fail(session, r, __func__);
	return run;
}

int session_unforce(struct session *session, struct thread *thread, int signal)
{
	struct disposition d = survive_actual(thread, signal);
	bool lifted = thread->lifted && signal == SIGSEGV;
	bool blocked = thread->mask_known && !lifted &&
		       (thread->mask & signal_bit(signal));
	bool ignored = d.handler == (uint64_t)(uintptr_t)SIG_IGN;
	struct injection injection;
	int r = 0;

	if (!blocked && !ignored)
		return 0;
	if (blocked)
		r = trace_set_mask(thread->tid, thread->mask);
	if (r < 0 || d.handler == (uint64_t)(uintptr_t)SIG_DFL)
		return r;
	r = inject_begin(&injection, thread);
	if (r == 0)
		r = inject_disposition(&injection, signal, &d);
	return first_error(r, inject_end(&injection));
}

/* Is a signal on its way that will run a handler or end the process? */
bool session_signal_waits(const struct session *session,
			  const struct thread *thread)
{
	bool known = session->process->dispositions.known;
	struct status_signals now;
	uint64_t pending;

	if (status_signals(thread->tid, &now) < 0)
		return false;
	pending = (now.pending | now.shared) & ~now.blocked;
	for (int signal = 1; signal <= SIGNALS; signal++)
		if (pending & signal_bit(signal) &&
		    !(known && session_ignores(session, thread, signal)))
			return true;
	return false;
}

/* close(2) has closed even when it says EINTR. */
static bool may_be_made_again(uint64_t number)
{
	return number != SYS_close && number != SYS_rt_sigreturn;
}

/* Of a call that began before we came, this is the first we see. */
static void note_call(struct thread *thread,
		      const struct user_regs_struct *regs)
{
	const uint64_t args[6] = { regs->rdi, regs->rsi, regs->rdx,
				   regs->r10, regs->r8,	 regs->r9 };

	if (regs->orig_rax != SYS_restart_syscall)
		thread->last_call = (int)regs->orig_rax;
	else if (thread->last_call < 0)
		thread->last_call = call_under_restart(thread, regs->rip);
	for (int i = 0; i < 6; i++)
		thread->last_args[i] = args[i];
}

void session_restart(struct session *session, struct thread *thread,
		     bool delivers)
{
	struct user_regs_struct regs;
	int over;

	if (trace_get_regs(thread->tid, &regs) < 0)
		return;
	if ((int64_t)regs.orig_rax < 0) {
		thread->grouped = false;
		return;
	}
	note_call(thread, &regs);
	if ((int64_t)regs.rax <= -512 && (int64_t)regs.rax >= -516) {
		thread->restarted = true; /* by the kernel */
		return;
	}
	/* epoll_wait and others end with EINTR when the program was stopped
	 * and continued, also without us. */
	if (thread->grouped) {
		thread->grouped = false;
		partial_settle(thread);
		return;
	}
	if (partial_again(session, thread, &regs))
		return;
	if ((int64_t)regs.rax != -EINTR || !may_be_made_again(regs.orig_rax))
		return;
	if (!delivers && (session_signal_waits(session, thread) ||
			  jobs_stopping(session->process, thread))) {
		partial_settle(thread);
		return;
	}
	/* A filter of its own, say, answers so: each time it is asked. */
	if (!delivers && !thread->prodded && thread->remade) {
		thread->remade = false;
		partial_settle(thread);
		return;
	}
	thread->remade = !delivers && !thread->prodded;
	over = timeout_over(thread, &regs);
	if (over < 0 && thread->partial) {
		partial_settle(thread);
		return;
	}
	regs.rax = over < 0 ? (uint64_t)over : regs.orig_rax;
	regs.rip -= over < 0 ? 0 : 2;
	regs.orig_rax = (uint64_t)-1;
	if (trace_set_regs(thread->tid, &regs) == 0)
		thread->restarted = over == 0;
}

/* While the program runs free we do not see what it sets; the kernel tells. */
bool session_ignores(const struct session *session, const struct thread *thread,
		     int signal)
{
	const struct dispositions *all = &session->process->dispositions;
	struct dispositions now = { 0 };
	struct status_signals told;

	if (session->phase == PHASE_ARMED)
		return disposition_ignores(all, signal);
	if (status_signals(thread->tid, &told) < 0 ||
	    told.caught & signal_bit(signal))
		return false;
	if (told.ignored & signal_bit(signal))
		now.signal[signal].handler = (uint64_t)(uintptr_t)SIG_IGN;
	return disposition_ignores(&now, signal);
}

/*
 * The kernel writes the handler's frame without asking: on a closed page that
 * kills the process.  Such a page is given up; another thread opens it, or
 * the signal is queued again, because an injection would lose it.
 */
static struct verdict deliver_on_closed(struct session *session,
					struct thread *thread, int signal,
					uint64_t start, uint64_t end)
{
	struct thread *other;
	struct injection injection;
	siginfo_t info;
	int r = process_hold(session->process, thread, HOLD_USER);

	session->parked = true;
	other = inject_thread(session->process);
	if (r == 0 && other) {
		r = session_refuse(session, other, start, end, REFUSED_STACK);
		return r < 0 ? failed(session, r)
			     : (struct verdict){ VERDICT_RUN, signal };
	}
	if (r == 0)
		r = trace_get_siginfo(thread->tid, &info);
	if (r == 0)
		r = session_refuse(session, thread, start, end, REFUSED_STACK);
	if (r == 0)
		r = inject_begin(&injection, thread);
	if (r < 0)
		return failed(session, r);
	r = inject_signal(&injection, &info);
	r = first_error(r, inject_end(&injection));
	thread->owed = signal;
	return r < 0 ? failed(session, r) : run;
}

/*
 * An ignored signal is not given: a handler that is set before the thread runs
 * on would have its frame on a closed stack.  An exception is not ignored.
 */
static bool is_dropped(const struct session *session, int signal)
{
	const uint64_t exceptions = signal_bit(SIGSEGV) | signal_bit(SIGBUS) |
				    signal_bit(SIGFPE) | signal_bit(SIGILL) |
				    signal_bit(SIGTRAP) | signal_bit(SIGSYS);

	return session->phase == PHASE_ARMED && session->watch.named.count &&
	       !(exceptions & signal_bit(signal));
}

static struct verdict deliver(struct session *session, struct thread *thread,
			      int signal)
{
	struct dispositions *all = &session->process->dispositions;
	const struct verdict verdict = { VERDICT_RUN, signal };
	struct user_regs_struct regs;
	uint64_t mask;
	int r;

	if ((!all->known && !session->unwatching) || session_is_over(session))
		return verdict;
	if (session->phase == PHASE_ARMED)
		process_learn_disposition(session->process, signal);
	if (signal == SIGSEGV) {
		r = survive_deliver(session, thread);
		if (r <= 0)
			return r < 0 ? failed(session, r) : run;
	}
	if (session_ignores(session, thread, signal)) {
		session_restart(session, thread, true);
		return is_dropped(session, signal) ? run : verdict;
	}
	/* Its call ends, or begins anew with its whole timeout. */
	thread->restarted = thread->remade = false;
	thread->call_deadline = 0;
	partial_settle(thread);
	if (session->phase != PHASE_ARMED || !disposition_handles(all, signal))
		return verdict;

	interrupted_by_handler(session, thread, all->signal[signal].flags);
	r = lift_end(thread);
	if (r < 0)
		return failed(session, r);
	if (trace_get_regs(thread->tid, &regs) < 0)
		return verdict;
	if (thread->stackless) {
		thread->stackless = false;
		disposition_given(all, signal);
		return verdict;
	}
	mask = disposition_mask(
		all, signal,
		process_status(thread->tid, "SigBlk", 16, thread->mask));
	r = sigframe_wanted(session, &regs)
		    ? sigframe_deliver(session, thread, signal, &regs)
		    : -ENOSPC;
	if (r == SIGFRAME_TAKEN_BACK)
		return run;
	thread->mask = mask;
	disposition_given(all, signal);
	if (r == 1)
		return (struct verdict){ VERDICT_AGAIN, 0 };
	if (r != -ENOSPC)
		return r < 0 ? failed(session, r) : run;
	if (guard_closed(&session->guard, regs.rsp - SIGFRAME, regs.rsp))
		return deliver_on_closed(session, thread, signal,
					 regs.rsp - SIGFRAME, regs.rsp);
	return verdict;
}

/* A SIGSEGV finds its handler, whatever other threads do meanwhile. */
static struct verdict give(struct session *session, struct thread *thread,
			   int signal)
{
	bool needed =
		signal == SIGSEGV && session->phase == PHASE_ARMED &&
		disposition_handles(&session->process->dispositions, SIGSEGV);
	int r = needed ? mend_prepare(session, thread) : 0;
	struct verdict verdict;

	if (r < 0)
		return failed(session, r);
	if (r == MEND_QUEUED)
		return run;
	verdict = deliver(session, thread, signal);
	if (r == 0 || verdict.kind != VERDICT_RUN || !verdict.signal)
		return verdict;
	r = mend_deliver(session, thread, SIGSEGV);
	return r == 1 ? (struct verdict){ VERDICT_AGAIN, 0 }
		      : failed(session, r);
}

/* The program's entry point, and its libraries are there: begin. */
static struct verdict arrive(struct session *session, struct thread *thread)
{
	int r = entry_leave(session, thread);

	if (r == 0 && !session_is_over(session))
		r = session_arm(session, thread);
	return r < 0 ? failed(session, r) : run;
}

static void note_own_fault(struct session *session, struct thread *thread,
			   const siginfo_t *info)
{
	struct user_regs_struct regs = { 0 };

	session->counts.own_signals++;
	if (session->options->verbose <= 0)
		return;
	(void)!trace_get_regs(thread->tid, &regs);
	report_signal(session, thread, info, regs.rip);
}

bool session_replaced(const struct session *session,
		      const struct thread *thread, const siginfo_t *info)
{
	struct user_regs_struct regs;

	/* In a call that sets another mask for its while it comes rightly. */
	return (session->phase == PHASE_ARMED || session->left_armed) &&
	       info->si_signo == SIGSEGV && info->si_code <= 0 &&
	       thread->mask_known && thread->mask & signal_bit(SIGSEGV) &&
	       (thread->lifted || (trace_get_regs(thread->tid, &regs) == 0 &&
				   (int64_t)regs.orig_rax < 0));
}

/*
 * It was told only because the block is lifted.  With the block in force the
 * kernel queues it again where it came from: of the thread, or its process.
 */
static int put_back(struct session *session, struct thread *thread)
{
	int r = lift_wait(thread);

	if (r == 0)
		r = thread_interrupt(thread);
	if (r == 0)
		r = inject_deliver(thread, SIGSEGV, &thread->stop);
	if (r < 0)
		return r;
	if (thread->stop.kind == STOP_INTERRUPT) {
		session_restart(session, thread, false);
	} else {
		thread_set_state(thread, THREAD_PARKED);
		session->parked = true;
	}
	return KEEP_QUEUED;
}

int session_keep(struct session *session, struct thread *thread,
		 const siginfo_t *info)
{
	int r;

	if (!session_replaced(session, thread, info))
		return 0;
	if (thread->lifted)
		return put_back(session, thread);
	/* A fault was to be queued, and met it there. */
	thread->own = signal_bit(SIGSEGV);
	r = kept_take(thread, info);
	if (r <= 0)
		return r;
	r = session_unforce(session, thread, SIGSEGV);
	return r < 0 ? r : first_error(lift_wait(thread), KEEP_SWALLOWED);
}

struct verdict session_signal(struct session *session, struct thread *thread)
{
	int signal = thread->stop.value;
	siginfo_t info;
	int r = trace_get_siginfo(thread->tid, &info);

	if (r < 0)
		return run;
	if (thread->owed == signal) {
		thread->owed = 0;
		return give(session, thread, signal);
	}
	if (entry_reached(session, &info))
		return arrive(session, thread);
	if (signal != SIGSEGV)
		return deliver(session, thread, signal);

	r = session_keep(session, thread, &info);
	if (r != 0)
		return r < 0 ? failed(session, r) : run;
	r = session_fault(session, thread, &info);
	if (r == FAULT_OURS)
		r = kept_return(thread);
	if (r < 0)
		return failed(session, r);
	if (r == FAULT_OURS)
		return run;
	if (thread->stop.value == SIGSEGV)
		note_own_fault(session, thread, &info);
	return raise_finish(session, thread,
			    give(session, thread, thread->stop.value));
}
