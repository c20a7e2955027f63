/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "tracer/family.h"
#include "tracer/idle.h"
#include "tracer/process/perf.h"

/* Born, and its parent has not told of it yet. */
struct orphan {
	struct stop stop;
	pid_t parent; /* the process that it was born of */
	uint64_t since_ns;
};

static int new_tools(struct family *family)
{
	int r = execute_new(&family->execute);

	if (r == 0)
		r = ahead_new(family->execute, &family->ahead);
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
	r = options->stack_hz > 0 ? perf_allowed(err) : 0;
	if (r < 0)
		return r;
	family->options = options;
	family->log.fd = -1;
	family->place.cpu = -1;
	family->matched = calloc(options->nwatches + 1, 1);
	r = family->matched ? new_tools(family) : -ENOMEM;
	if (r < 0)
		return error_set(err, r, "cannot set up the tracer (%s)",
				 r == -ENOMEM ? "out of memory"
					      : "no executable memory");
	r = session_new(family, run, &first, err);
	if (r == 0 && !log_is_numbered(options->output))
		r = log_open(&family->log, options->output, NULL, err);
	if (r < 0)
		return r;
	/* What one program lacks another one may have. */
	first->err = options->follow ? NULL : err;
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
	table_done(&family->logs);
	free(family->matched);
	ahead_free(family->ahead);
	execute_free(family->execute);
	insn_names_free(family->names);
	free(family->windows);
	free(family->xstate);
	log_done(&family->log);
	free(family);
}

/* Numbers of processes come back: no log may replace an older one. */
static int name(struct family *family, pid_t pid, char *ret, size_t size)
{
	uintptr_t before = (uintptr_t)table_get(&family->logs, (uint64_t)pid);

	if (before)
		snprintf(ret, size, "%d.%ju", pid, (uintmax_t)before + 1);
	else
		snprintf(ret, size, "%d", pid);
	return table_put(&family->logs, (uint64_t)pid, (void *)(before + 1));
}

int family_log(struct session *session, struct error *err)
{
	struct family *family = session->family;
	const char *output = family->options->output;
	bool each = family->options->follow == FOLLOW_LOG_EACH;
	char id[48];
	int r;

	if (!log_is_numbered(output) || (!each && session != family->sessions))
		return 0;
	r = name(family, session->process->pid, id, sizeof(id));
	if (r < 0)
		return error_set(err, r, "out of memory");
	if (each)
		session->log = &session->own_log;
	return log_open(session->log, output, id, err);
}

void family_remove(struct family *family, struct session *session)
{
	struct session **at = &family->sessions;

	while (*at != session)
		at = &(*at)->next;
	*at = session->next;
	if (family->served == session)
		family->served = NULL;
	if (family->ahead_of == session)
		family->ahead_of = NULL;
	session_free(session);
}

static bool knows(const struct session *session, const struct stop *stop)
{
	return session->process &&
	       (process_thread(session->process, stop->tid) ||
		table_get(&session->children, (uint64_t)stop->tid));
}

bool family_knows(const struct family *family, pid_t tid)
{
	const struct stop stop = { .tid = tid };
	const struct session *session;

	for (session = family->sessions; session; session = session->next)
		if (knows(session, &stop))
			return true;
	return false;
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
			.since_ns = session_now(),
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
}

void family_serve(struct family *family)
{
	struct session *session = family->sessions;

	for (; session; session = session->next) {
		if (!session->parked)
			continue;
		session_serve(session);
		log_settle(session->log);
	}
}

void family_arrive(struct family *family, const struct stop *stop)
{
	struct session *session = find(family, stop);

	if (session)
		session_arrive(session, stop);
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

bool family_abandoned(struct family *family, uint64_t age_ns, struct stop *ret)
{
	uint64_t now = session_now();

	table_for_each(&family->orphans, s)
	{
		struct orphan *orphan = s->value;

		if (now - orphan->since_ns < age_ns)
			continue;
		take_orphan(family, orphan, ret);
		return true;
	}
	return false;
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
