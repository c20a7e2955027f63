/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tracer/family.h"
#include "tracer/fault.h"
#include "tracer/follow.h"
#include "tracer/idle.h"
#include "tracer/jobs.h"
#include "tracer/lift.h"
#include "tracer/process/kept.h"
#include "tracer/process/living.h"
#include "tracer/sample.h"
#include "tracer/slice.h"
#include "tracer/survive.h"

static const struct verdict run = { VERDICT_RUN, 0 };
static const struct verdict gone = { VERDICT_GONE, 0 };

static void bury(struct session *session, struct thread *thread)
{
	struct process *process = session->process;
	const struct thread *leader = process_thread(process, process->pid);
	bool leads = thread == leader;

	/* Of one that had ended before we came nobody tells: the process ends
	 * with the last of the others, most often by exit_group(2). */
	if (leads || (leader && leader->untold && thread->tgid == process->pid))
		session->status = thread->stop.status;
	sample_last(session, thread);
	session_call_forget(session, thread);
	lift_forget(thread);
	stack_drop(session, thread);
	process_remove(process, thread);
	/* Of a process that we let go the last thread of ours may not be the
	 * last that it has. */
	if (process_is_empty(process) && (leads || !session_is_over(session)))
		session_ended(session);
}

/* The parent of the program that it runs, clsrun cannot end before that. */
static bool stays(const struct session *session)
{
	const struct session *first = session->family->sessions;

	return first->run && !first->ended;
}

static struct verdict leave(struct session *session, struct thread *thread)
{
	int r;

	if (session->process->filters ||
	    (session->unwatching && stays(session)))
		return idle_thread(session, thread);
	r = leave_thread(session, thread);
	if (r == -ESRCH || r == LEAVE_LATER)
		return run; /* dying: its end will be told */
	session_call_forget(session, thread);
	stack_drop(session, thread);
	process_remove(session->process, thread);
	return gone;
}

static struct verdict dispatch(struct session *session, struct thread *thread)
{
	struct verdict verdict;

	if (session_is_over(session))
		return leave(session, thread);
	if (session->newborn)
		return follow_born(session, thread);
	switch (thread->stop.kind) {
	case STOP_SIGNAL:
		return session_signal(session, thread);
	case STOP_SYSCALL:
		return session_call(session, thread);
	case STOP_SECCOMP:
		return seccomp_stop(session, thread);
	case STOP_INTERRUPT:
		session_fail(session, survive_shed(session, thread),
			     "survive_shed");
		session_restart(session, thread, false);
		thread->prodded = false;
		return run;
	case STOP_GROUP:
		thread->grouped = true;
		return (struct verdict){ VERDICT_LISTEN, 0 };
	case STOP_CLONE:
		return session_clone(session, thread);
	case STOP_VFORK_DONE:
		thread->vforking = false;
		return run;
	case STOP_EXEC:
		verdict = session_exec(session, thread);
		return verdict.kind == VERDICT_RUN && session_is_over(session)
			       ? leave(session, thread)
			       : verdict;
	case STOP_NONE:
	case STOP_EXITED:
	case STOP_KILLED:
	case STOP_OTHER:
	default:
		return run;
	}
}

static void resume(struct session *session, struct thread *thread,
		   struct verdict verdict)
{
	enum trace_resume how = verdict.kind == VERDICT_LISTEN
					? TRACE_LISTEN
					: seccomp_resume(session, thread);

	if (thread->state != THREAD_STOPPED)
		return; /* held for another that was handled just now */
	thread->in_call &= how == TRACE_SYSCALL;
	if (how == TRACE_CONT) { /* it makes calls that we do not see */
		thread->last_call = -1;
		thread->call_deadline = thread->call_began = 0;
	}
	/* Let go where it begins its call again it would get EINTR. */
	thread->woken |= how == TRACE_SYSCALL && session->unwatching &&
			 thread->stop.kind != STOP_SYSCALL;
	lift_resume(session, thread, verdict.signal);
	thread_set_state(thread, THREAD_RUNNING);
	if (verdict.signal || thread->regroup)
		jobs_stop(session, thread,
			  thread->regroup ? SIGSTOP : verdict.signal);
	if (session->eager && verdict.signal)
		thread_interrupt(thread);
	/* -ESRCH: it died; whoever waits will be told. */
	if (trace_resume(thread->tid, how, verdict.signal) == 0 &&
	    thread->regroup)
		thread_interrupt(thread);
	thread->regroup = false;
}

/* What had to wait for a thread that stands where calls can be injected. */
static void try_again(struct session *session)
{
	const char *why = family_why(session);

	session->eager = false;
	if (why)
		session_finish(session, why);
	else
		slice_tick(session);
}

/* Not those that were parked: each try parks who went on before it, and the
 * turn of a third, whose fault is what we wait for, would never come. */
static void handle(struct session *session, struct thread *thread, bool tries)
{
	struct verdict verdict;

	if (stop_is_end(&thread->stop) || thread->state == THREAD_GONE) {
		bury(session, thread);
		return;
	}
	thread_set_state(thread, THREAD_STOPPED);
	thread->in_call = false;
	if (thread->stop.kind == STOP_INTERRUPT ||
	    thread->stop.kind == STOP_GROUP ||
	    thread->stop.kind == STOP_SYSCALL)
		thread->woken = false;
	if (session->reclose.count)
		session_reclose(session, thread);
	/* Behind a fault on its way the kernel would drop it. */
	if (thread->kept && inject_possible(thread) && !fault_waits(thread))
		session_fail(session, kept_return(thread), "kept_return");
	if (session->overdue && inject_possible(thread))
		slice_end(session);
	else if (tries && session->eager && !session_is_over(session) &&
		 inject_possible(thread))
		try_again(session);
	verdict = dispatch(session, thread);
	if (verdict.kind == VERDICT_GONE)
		return;
	/* A stop of its own came while it worked for us. */
	session->parked |= thread->state == THREAD_PARKED;
	if (thread->state == THREAD_GONE)
		bury(session, thread);
	else if (verdict.kind != VERDICT_AGAIN)
		resume(session, thread, verdict);
}

/* Threads that were stopped for another; their own stops come now. */
void session_serve(struct session *session)
{
	struct thread *next;

	do {
		next = NULL;
		session->parked = false;
		table_for_each(&session->process->threads, s)
		{
			struct thread *thread = s->value;

			if (thread->state == THREAD_PARKED ||
			    thread->state == THREAD_GONE) {
				next = thread;
				break;
			}
		}
		if (next)
			handle(session, next, false);
	} while (next || session->parked);
}

void session_handle(struct session *session, const struct stop *stop)
{
	struct thread *thread = process_thread(session->process, stop->tid);
	uint64_t start = session_now();

	if (thread) {
		place_follow(&session->family->place, thread);
		thread->stop = *stop;
		handle(session, thread, true);
	} else if (idle_takes(session, stop->tid)) {
		idle_stop(session, stop);
	} else if (table_get(&session->children, (uint64_t)stop->tid)) {
		session_arrive(session, stop);
	} else {
		/* Its leader was let go before other threads. */
		session->status = stop->status;
		session_ended(session);
	}
	if (session->parked)
		session_serve(session);
	session->stopped_ns += session_now() - start;
	log_settle(session->log);
}

static struct thread *one_that_runs(const struct session *session)
{
	table_for_each(&session->process->threads, s)
	{
		struct thread *thread = s->value;

		if (thread->state == THREAD_RUNNING)
			return thread;
	}
	return NULL;
}

/*
 * A call that an interrupt of ours broke off is made whole at its stop.  And
 * who is let go must not stop for us any more: all of them go at once.
 */
static bool may_leave_unseen(const struct family *family)
{
	const struct session *session = family->sessions;

	for (; session; session = session->next) {
		if (session->newborn)
			return false;
		if (!session->process)
			continue;
		table_for_each(&session->process->threads, s)
		{
			const struct thread *thread = s->value;

			if (thread->woken && !session_is_over(session))
				return false;
		}
	}
	return true;
}

/*
 * Nothing was changed in it.  To be detached who runs would have to be
 * stopped, which a call can tell: our own end lets them go unseen.  clsrun
 * stays.
 */
static void leave_unseen(struct session *session)
{
	struct thread *thread;

	sample_tick(session);
	session->phase = PHASE_DRAINING;
	while (!stays(session) && (thread = one_that_runs(session))) {
		stack_drop(session, thread);
		process_remove(session->process, thread);
	}
	session_serve(session);
}

enum { LEAVE_TRIES = 100, PATIENCE_NS = 1000000000 };

void session_finish(struct session *session, const char *why)
{
	int r;

	if (session->newborn)
		return; /* its first stop comes soon */
	if (session->unwatching && !session->failure) {
		if (!may_leave_unseen(session->family))
			return;
		session->end = why;
		leave_unseen(session);
		return;
	}
	r = leave_prepare(session);

	/* Nobody who could do it stands still, or it died: next tick.  What
	 * else fails may work then, too, and is better than closed pages. */
	session->eager = r == -EAGAIN;
	if (r < 0 && session->process->threads.count &&
	    (r == -EAGAIN || r == -ESRCH ||
	     session->leave_tries++ < LEAVE_TRIES))
		return;
	session_fail(session, r == -ESRCH ? 0 : r, __func__);
	session->end = why;
	session->phase = PHASE_DRAINING;
	session->leave_ns = session_now() + PATIENCE_NS;
	session_serve(session);
}

/* Of those that are to be let go there is at most a leader that has ended,
 * which cannot be: it stays a zombie until the others end, as without us. */
static bool is_let_go(const struct process *process)
{
	pid_t tid;

	if (process_is_empty(process))
		return true;
	if (process->threads.count > 1 ||
	    !process_thread(process, process->pid))
		return false;
	tid = living_thread(process->pid);
	return tid && tid != process->pid;
}

bool session_is_done(const struct session *session)
{
	return session->children.count == 0 && session->idle.count == 0 &&
	       (session->ended ||
		(session_is_over(session) && is_let_go(session->process)));
}

void session_tick(struct session *session)
{
	uint64_t start = session_now();

	if (!session->newborn)
		slice_tick(session);
	if (session->parked)
		session_serve(session);
	session->stopped_ns += session_now() - start;
	sample_tick(session);
	log_flush(session->log);
}
