/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include "tracer/idle.h"
#include "tracer/orphans.h"

/* The parent's own stop comes at once, if it comes. */
static const uint64_t wait_ns = 300000000, linger_ns = 1000000000;

static struct session *relative(const struct family *family, pid_t tid)
{
	uint64_t stack = process_stack(tid);
	struct session *session;

	for (session = family->sessions; session; session = session->next)
		if (stack && session->process &&
		    session->process->stack == stack)
			return session;
	return NULL;
}

void orphans_tick(struct family *family)
{
	struct stop stop;

	while (family_abandoned(family, wait_ns, &stop)) {
		struct session *session = relative(family, stop.tid);

		if (session) {
			session_orphan(session, &stop);
			continue;
		}
		report_warning(family->sessions,
			       "process %d was born of one that is gone, and "
			       "runs untraced",
			       stop.tid);
		idle_let_go(family->sessions, stop.tid);
	}
}

bool orphans_may_come(const struct session *session)
{
	return session->ended && WIFSIGNALED(session->status) &&
	       session_now() - session->ended_ns < linger_ns;
}
