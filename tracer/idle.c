/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tracer/family.h"
#include "tracer/idle.h"
#include "tracer/seccomp.h"

static void keep(struct session *session, pid_t tid)
{
	if (table_put(&session->idle, (uint64_t)tid, session) < 0)
		session_fail(session, -ENOMEM, __func__);
}

void idle_let_go(struct session *session, pid_t tid)
{
	if (!session->process->filters) {
		trace_detach(tid, 0);
		return;
	}
	keep(session, tid);
	trace_resume(tid, TRACE_CONT, 0);
}

/* When the program has ended, nobody is left to tell whose child it is. */
bool idle_takes(const struct session *session, pid_t tid)
{
	return table_get(&session->idle, (uint64_t)tid) ||
	       (session->ended && session->process->filters &&
		!table_get(&session->children, (uint64_t)tid));
}

/* A child of one of these, or a thread: its own first stop may have come. */
static void adopt(struct session *session, pid_t parent)
{
	unsigned long message = 0;
	struct stop stop;

	if (trace_event_message(parent, &message) < 0 || !message)
		return;
	keep(session, (pid_t)message);
	if (family_claim(session->family, (pid_t)message, &stop))
		idle_stop(session, &stop);
}

/* The thread that exec'ed has its process's number now. */
static void rename_thread(struct session *session, pid_t tid)
{
	unsigned long former = 0;

	if (trace_event_message(tid, &former) == 0 && former &&
	    (pid_t)former != tid)
		table_remove(&session->idle, former);
}

void idle_stop(struct session *session, const struct stop *stop)
{
	enum trace_resume how = TRACE_CONT;
	int signal = 0;

	if (stop_is_end(stop)) {
		table_remove(&session->idle, (uint64_t)stop->tid);
		return;
	}
	keep(session, stop->tid);
	switch (stop->kind) {
	case STOP_SIGNAL:
		signal = stop->value;
		break;
	case STOP_GROUP:
		how = TRACE_LISTEN;
		break;
	case STOP_CLONE:
		adopt(session, stop->tid);
		break;
	case STOP_EXEC:
		rename_thread(session, stop->tid);
		break;
	case STOP_SECCOMP:
		(void)!seccomp_pass(stop->tid, session->process->filters);
		break;
	case STOP_NONE:
	case STOP_EXITED:
	case STOP_KILLED:
	case STOP_SYSCALL:
	case STOP_INTERRUPT:
	case STOP_VFORK_DONE:
	case STOP_OTHER:
	default:
		break;
	}
	/* -ESRCH: it died; its end will be told. */
	trace_resume(stop->tid, how, signal);
}

struct verdict idle_thread(struct session *session, struct thread *thread)
{
	struct verdict verdict = { VERDICT_RUN, 0 };

	if (thread->stop.kind == STOP_GROUP)
		return (struct verdict){ VERDICT_LISTEN, 0 };
	if (thread->stop.kind == STOP_EXEC)
		return session_exec(session, thread);
	if (leave_settle(session, thread, &verdict.signal) != 0)
		verdict.signal = 0; /* dying, or a stop of ours is to come */
	return verdict;
}
