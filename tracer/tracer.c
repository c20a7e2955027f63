/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tracer/idle.h"
#include "tracer/process/permission.h"
#include "tracer/session.h"
#include "tracer/slice.h"
#include "tracer/survive.h"
#include "tracer/tracer.h"
#include "tracer/wake.h"

static const struct verdict run = { VERDICT_RUN, 0 };
static const struct verdict gone = { VERDICT_GONE, 0 };

static void bury(struct session *session, struct thread *thread)
{
	struct process *process = session->process;
	bool leads = thread->tid == process->pid;

	if (leads)
		session->status = thread->stop.status;
	session_call_forget(session, thread);
	process_remove(process, thread);
	/* Of a process that we let go the last thread of ours may not be the
	 * last that it has. */
	if (process->threads.count == 0 && (leads || !session_is_over(session)))
		session_ended(session);
}

static struct verdict leave(struct session *session, struct thread *thread)
{
	int r;

	if (session->process->filters)
		return idle_thread(session, thread);
	r = leave_thread(session, thread);
	if (r == -ESRCH || r == LEAVE_LATER)
		return run; /* dying: its end will be told */
	session_call_forget(session, thread);
	process_remove(session->process, thread);
	return gone;
}

static struct verdict dispatch(struct session *session, struct thread *thread)
{
	struct verdict verdict;

	if (session_is_over(session))
		return leave(session, thread);
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
		thread->call_deadline = 0;
	}
	thread_set_state(thread, THREAD_RUNNING);
	if (session->eager && verdict.signal)
		trace_interrupt(thread->tid);
	if (thread->restop)
		syscall(SYS_tgkill, thread->tgid, thread->tid, SIGSTOP);
	/* -ESRCH: it died; whoever waits will be told. */
	if (trace_resume(thread->tid, how, verdict.signal) == 0 &&
	    thread->regroup)
		trace_interrupt(thread->tid);
	thread->restop = thread->regroup = false;
}

static const char *why_leave(const struct session *session);
static void finish(struct session *session, const char *why);

/* What had to wait for a thread that stands where calls can be injected. */
static void try_again(struct session *session)
{
	const char *why = why_leave(session);

	session->eager = false;
	if (why)
		finish(session, why);
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
	if (session->reclose.count)
		session_reclose(session, thread);
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
static void handle_parked(struct session *session)
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

static void handle_stop(struct session *session, const struct stop *stop)
{
	struct thread *thread = process_thread(session->process, stop->tid);
	uint64_t start = session_now();

	if (!thread && stop->tid == session->process->pid &&
	    stop_is_end(stop)) {
		/* Its leader was let go before other threads. */
		session->status = stop->status;
		session_ended(session);
	} else if (!thread && idle_takes(session, stop->tid)) {
		idle_stop(session, stop);
	} else if (!thread) {
		session_orphan(session, stop);
	} else {
		place_follow(&session->place, thread);
		thread->stop = *stop;
		handle(session, thread, true);
	}
	if (session->parked)
		handle_parked(session);
	session->stopped_ns += session_now() - start;
	log_settle(&session->log);
}

enum { LEAVE_TRIES = 100 };

/* Give all rights back, then detach whoever stands still. */
static void finish(struct session *session, const char *why)
{
	int r = leave_prepare(session);

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
	handle_parked(session);
}

static const char *why_leave(const struct session *session)
{
	const struct options *options = session->options;

	if (session->failure)
		return "detached";
	if (wake_leave())
		return "interrupted";
	if (session->log.gone)
		return "reader-gone";
	if (options->max_events &&
	    session->counts.events >= options->max_events)
		return "max-events";
	if (options->duration > 0 && session->armed_ns &&
	    (double)(session_now() - session->armed_ns) / 1e9 >=
		    options->duration)
		return "duration";
	return NULL;
}

static bool is_done(const struct session *session)
{
	return session->children.count == 0 && session->idle.count == 0 &&
	       (session->ended || (session_is_over(session) &&
				   session->process->threads.count == 0));
}

/* Before its log has begun, a program of ours that cannot be watched as the
 * user wants is ended; it has not run yet. */
static void abandon(struct session *session)
{
	if (session->run && !session->began && session->failure)
		kill(session->process->pid, SIGKILL);
}

static void tick(struct session *session)
{
	uint64_t start = session_now();

	slice_tick(session);
	if (session->parked)
		handle_parked(session);
	session->stopped_ns += session_now() - start;
	log_flush(&session->log);
}

static void loop(struct session *session)
{
	while (!is_done(session)) {
		const char *why =
			session_is_over(session) ? NULL : why_leave(session);
		struct stop stop;
		int r;

		if (why) {
			abandon(session);
			finish(session, why);
			if (is_done(session))
				break;
		}
		r = stop_wait(-1, true, &stop);
		if (r == 0)
			handle_stop(session, &stop);
		else if (r == -ECHILD)
			break;
		if (wake_tick() && !session_is_over(session))
			tick(session);
	}
}

/* We let it go, but are its parent still: wait for its end. */
static void wait_for_end(struct session *session)
{
	struct stop stop;
	int r;

	log_flush(&session->log);
	wake_quiet();
	while (!session->ended) {
		r = stop_wait(session->process->pid, true, &stop);
		if (r == -ECHILD)
			return;
		if (r == 0 && stop_is_end(&stop)) {
			session->status = stop.status;
			session->ended = true;
		}
	}
}

static int conclude(struct session *session, struct outcome *ret,
		    struct error *err)
{
	if (session->ended && !session_is_over(session))
		session->end =
			WIFSIGNALED(session->status) ? "killed" : "exited";
	report_summary(session);
	*ret = (struct outcome){ session->ended, session->status };
	if (session->failure && !err->text[0])
		error_set(err, session->failure,
			  "tracing failed (%s in %s); the target was let go "
			  "as it was",
			  strerror(-session->failure), session->failed_at);
	else if (session->log.number && !err->text[0])
		error_set(err, session->log.number, "cannot write the log: %s",
			  strerror(-session->log.number));
	return err->text[0] ? TRACER_FAILED : 0;
}

int tracer_attach(const struct options *options, pid_t pid, struct outcome *ret,
		  struct error *err)
{
	_cleanup_(session_freep) struct session *session = NULL;
	int r = session_new(options, false, &session, err);

	*err = r == 0 ? (struct error){ 0 } : *err;
	if (r < 0)
		return TRACER_FAILED;
	session->err = err;
	r = wake_install(0, slice_tick_ms(session));
	if (r < 0) {
		error_set(err, r, "cannot set a timer: %s", strerror(-r));
		return TRACER_FAILED;
	}

	r = seize(session, pid, err);
	if (r == 0) {
		r = session_arm(session, NULL);
		session_fail(session, r == -EAGAIN ? 0 : r, "session_arm");
		session->parked = true;
		handle_parked(session);
		loop(session);
		r = conclude(session, ret, err);
	} else {
		r = TRACER_FAILED;
	}
	wake_restore();
	return r;
}

int tracer_run(const struct options *options, char *const argv[],
	       struct outcome *ret, struct error *err)
{
	_cleanup_(session_freep) struct session *session = NULL;
	int r;

	*err = (struct error){ 0 };
	r = permission_check_program(argv[0], err);
	if (r != 0)
		return r < 0 ? TRACER_FAILED : r;
	r = session_new(options, true, &session, err);
	if (r < 0)
		return TRACER_FAILED;
	session->err = err;

	/* Handlers come after the fork: the program inherits what we did. */
	r = spawn(session, argv, err);
	if (r < 0)
		return TRACER_FAILED;
	r = wake_install(session->process->pid, slice_tick_ms(session));
	session_fail(session, r, "wake_install");
	loop(session);
	if (!session->ended)
		wait_for_end(session);
	r = spawn_explain(session, argv[0], err);
	if (r == 0)
		r = conclude(session, ret, err);
	wake_restore();
	return r;
}
