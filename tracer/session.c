/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "tracer/ahead.h"
#include "tracer/family.h"
#include "tracer/follow.h"

uint64_t session_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void session_fail(struct session *session, int number, const char *where)
{
	if (session->failure || number == 0)
		return;
	session->failure = number;
	session->failed_at = where;
	/* Before its log has begun, a program of ours that cannot be watched as
	 * the user wants has not run yet, and never does. */
	if (session->run && !session->log->began && session->process)
		kill(session->process->pid, SIGKILL);
}

enum { DEFAULT_HZ = 5 };

static void choose_policy(struct session *session)
{
	const struct options *options = session->options;

	session->broad = session->watch.broad;
	session->policy = options->policy;
	if (session->policy == POLICY_DEFAULT)
		session->policy = session->broad ? POLICY_SAMPLE : POLICY_EVERY;
	session->unwatching = options->stack_hz > 0 && !options->nwatches;
	if (session->unwatching || options->list || options->births_exact)
		session->policy = POLICY_EVERY;
	session->hz = options->hz > 0 ? options->hz : DEFAULT_HZ;
	session->guard.writes_only = options->on == ACCESS_WRITE;
	session->guard.once = session->policy == POLICY_FIRST;
	shadow_follow(session);
}

/* Behind the first, which keeps its place. */
static void join(struct family *family, struct session *session)
{
	struct session **at = &family->sessions;

	if (*at)
		at = &(*at)->next;
	session->next = *at;
	*at = session;
}

int session_new(struct family *family, bool run, struct session **ret,
		struct error *err)
{
	_cleanup_(session_freep) struct session *session =
		calloc(1, sizeof(*session));
	int r;

	if (!session)
		return error_set(err, -ENOMEM, "out of memory");
	session->family = family;
	session->options = family->options;
	session->log = &family->log;
	session->execute = family->execute;
	session->ahead = family->ahead;
	session->names = family->names;
	session->windows = family->windows;
	session->xstate = family->xstate;
	session->xstate_before = family->xstate + XSTATE_MAX;
	session->run = run;
	session->survives = family->options->survive;
	session->exec_failed = -1;
	session->end = "detached";
	session->began_ns = session_now();

	r = watch_init(&session->watch, session->options, err);
	if (r < 0)
		return r;
	choose_policy(session);
	r = unwinder_new(&session->stacks.unwinder);
	if (r < 0)
		return error_set(err, r, "cannot set up the tracer (%s)",
				 strerror(-r));
	*ret = session;
	join(family, take(session));
	return 0;
}

int session_refresh(struct session *session)
{
	struct process *process = session->process;
	int r = process_remap(process);

	if (r < 0 || session->world_remaps == process->remaps)
		return r;
	session->world_remaps = process->remaps;
	session->world = (struct world){
		.pid = process->pid,
		.memory = session_memory(session),
		.maps = process->maps,
		.symbols = process->symbols,
		.runtimes = session->options->runtimes,
	};
	if (!session->resolver)
		return resolver_new(&session->world, &session->resolver);
	resolver_epoch(session->resolver);
	resolver_remap(session->resolver);
	return 0;
}

static void free_tables(struct session *session)
{
	table_done(&session->idle);
	ranges_done(&session->sieve.covered);
	table_for_each(&session->children, s)
	{
		ranges_done(s->value);
		free(s->value);
	}
	table_done(&session->children);
	table_for_each(&session->decoded, s) free(s->value);
	table_done(&session->decoded);
}

void session_free(struct session *session)
{
	if (!session)
		return;
	if (session->process)
		table_for_each(&session->process->threads, s)
			session_call_forget(session, s->value);
	free_tables(session);
	report_done(session);
	stack_done(session);
	resolver_free(session->resolver);
	watch_done(&session->watch);
	guard_done(&session->guard);
	shadow_done(&session->shadow);
	ranges_done(&session->pinned);
	ranges_done(&session->reclose);
	ranges_done(&session->registered);
	async_forget(session);
	process_free(session->process);
	closep(&session->exec_failed);
	follow_newborn_free(session->newborn);
	if (session->log == &session->own_log)
		log_done(&session->own_log);
	free(session);
}
