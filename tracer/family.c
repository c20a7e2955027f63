/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tracer/family.h"
#include "tracer/idle.h"

/* Born, and its parent has not told of it yet. */
struct orphan {
	struct stop stop;
	pid_t parent; /* the process that it was born of */
};

static int new_tools(struct family *family)
{
	int r = execute_new(&family->execute);

	if (r == 0)
		r = insn_names_new(&family->names);
	family->windows = calloc(1, sizeof(*family->windows));
	family->xstate = aligned_alloc(64, 2 * XSTATE_MAX);
	if (r == 0 && (!family->windows || !family->xstate))
		r = -ENOMEM;
	return r;
}

int family_new(const struct options *options, bool run, struct family **ret,
	       struct error *err)
{
	_cleanup_(family_freep) struct family *family =
		calloc(1, sizeof(*family));
	struct session *first;
	int r;

	if (!family)
		return error_set(err, -ENOMEM, "out of memory");
	family->options = options;
	family->log.fd = -1;
	family->place.cpu = -1;
	r = new_tools(family);
	if (r < 0)
		return error_set(err, r, "cannot set up the tracer (%s)",
				 r == -ENOMEM ? "out of memory"
					      : "no executable memory");
	r = session_new(family, run, &first, err);
	if (r == 0)
		r = log_open(&family->log, options->output, err);
	if (r < 0)
		return r;
	first->err = err;
	*ret = take(family);
	return 0;
}

void family_free(struct family *family)
{
	if (!family)
		return;
	while (family->sessions) {
		struct session *session = family->sessions;

		family->sessions = session->next;
		session_free(session);
	}
	table_for_each(&family->orphans, s) free(s->value);
	table_done(&family->orphans);
	execute_free(family->execute);
	insn_names_free(family->names);
	free(family->windows);
	free(family->xstate);
	log_done(&family->log);
	free(family);
}

static bool knows(const struct session *session, const struct stop *stop)
{
	return session->process &&
	       (process_thread(session->process, stop->tid) ||
		table_get(&session->children, (uint64_t)stop->tid));
}

/* A leader may have been let go before other threads of its process. */
static bool led(const struct session *session, const struct stop *stop)
{
	return session->process && stop->tid == session->process->pid &&
	       stop_is_end(stop) && !session->ended;
}

static struct session *find(const struct family *family,
			    const struct stop *stop)
{
	struct session *session;

	if (family->served && knows(family->served, stop))
		return family->served;
	for (session = family->sessions; session; session = session->next)
		if (knows(session, stop))
			return session;
	for (session = family->sessions; session; session = session->next)
		if (led(session, stop) || idle_takes(session, stop->tid))
			return session;
	return NULL;
}

static void keep(struct family *family, const struct stop *stop)
{
	struct orphan *orphan;
	pid_t tgid;

	if (stop_is_end(stop))
		return;
	orphan = malloc(sizeof(*orphan));
	tgid = (pid_t)process_status(stop->tid, "Tgid", 10, 0);
	if (orphan)
		*orphan = (struct orphan){
			.stop = *stop,
			.parent = tgid != stop->tid
					  ? tgid
					  : (pid_t)process_status(
						    stop->tid, "PPid", 10, 0),
		};
	if (!orphan ||
	    table_put(&family->orphans, (uint64_t)stop->tid, orphan) < 0) {
		free(orphan);
		session_fail(family->sessions, -ENOMEM, __func__);
	}
}

void family_handle(struct family *family, const struct stop *stop)
{
	struct session *session = find(family, stop);

	if (session) {
		family->served = session;
		session_handle(session, stop);
	} else {
		keep(family, stop);
	}
	for (session = family->sessions; session; session = session->next)
		if (session->parked)
			session_serve(session);
}

static void take_orphan(struct family *family, struct orphan *orphan,
			struct stop *ret)
{
	*ret = orphan->stop;
	table_remove(&family->orphans, (uint64_t)ret->tid);
	free(orphan);
}

bool family_claim(struct family *family, pid_t tid, struct stop *ret)
{
	struct orphan *orphan = table_get(&family->orphans, (uint64_t)tid);

	if (!orphan)
		return false;
	take_orphan(family, orphan, ret);
	return true;
}

static bool lives(const struct family *family, pid_t pid)
{
	const struct session *session;

	for (session = family->sessions; session; session = session->next)
		if (session->process && session->process->pid == pid &&
		    !session->ended)
			return true;
	return false;
}

bool family_inherit(struct family *family, const struct session *session,
		    struct stop *ret)
{
	table_for_each(&family->orphans, s)
	{
		struct orphan *orphan = s->value;

		if (orphan->parent != session->process->pid &&
		    lives(family, orphan->parent))
			continue;
		take_orphan(family, orphan, ret);
		return true;
	}
	return false;
}
