/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/wait.h>

#include "tracer/family.h"
#include "tracer/list.h"
#include "tracer/orphans.h"
#include "tracer/own_limits.h"
#include "tracer/partial.h"
#include "tracer/process/permission.h"
#include "tracer/slice.h"
#include "tracer/tally.h"
#include "tracer/tracer.h"
#include "tracer/wake.h"

const char *family_why(const struct session *session)
{
	const struct family *family = session->family;
	const struct options *options = family->options;

	if (session->failure || session->confined)
		return "detached";
	if (wake_leave())
		return "interrupted";
	if (session->log->gone)
		return "reader-gone";
	if (options->list)
		return "listed";
	if (family_is_full(family))
		return "max-events";
	if (options->duration > 0 && family->armed_ns &&
	    (double)(session_now() - family->armed_ns) / 1e9 >=
		    options->duration)
		return "duration";
	return NULL;
}

static void settle_end(struct session *session)
{
	if (session->ended && !session_is_over(session))
		session->end =
			WIFSIGNALED(session->status) ? "killed" : "exited";
}

/* A child is over: what it counted goes to the log that it is in. */
static void reap(struct session *session)
{
	struct family *family = session->family;

	settle_end(session);
	if (session->failure)
		report_warning(session,
			       "process %d could not be traced on (%s in %s) "
			       "and was let go as it was",
			       session->process->pid,
			       strerror(-session->failure), session->failed_at);
	if (session->log == &family->log) {
		report_process(session);
		tally_merge(family->sessions, session);
	} else {
		report_summary(session);
	}
	family_remove(family, session);
}

/* The first stays: it holds the sums, and how it ended is how we end. */
static void reap_children(struct family *family)
{
	struct session *session = family->sessions->next, *next;

	for (; session; session = next) {
		next = session->next;
		if (session_is_done(session) && !orphans_may_come(session))
			reap(session);
	}
	if (family->sessions->run && family->sessions->ended)
		wake_orphaned();
}

/* Our end lets them go, as it does who was born and is not told of yet. */
static bool ends_with_us(const struct session *session)
{
	const struct session *first = session->family->sessions;

	return session->unwatching && !session->failure &&
	       session_is_over(session) && (!first->run || first->ended);
}

static bool is_done(const struct family *family)
{
	const struct session *session = family->sessions;

	while (session && (session_is_done(session) || ends_with_us(session)))
		session = session->next;
	return !session &&
	       (family->orphans.count == 0 || ends_with_us(family->sessions));
}

static void leave_where_due(struct family *family)
{
	struct session *session = family->sessions;

	for (; session; session = session->next) {
		const char *why =
			session_is_over(session) ? NULL : family_why(session);

		if (!why)
			continue;
		session_finish(session, why);
	}
}

static void tick(struct family *family)
{
	struct session *session = family->sessions;

	for (; session; session = session->next)
		if (!session_is_over(session) && !session->ended)
			session_tick(session);
		else if (session->process)
			partial_hurry(session);
	orphans_tick(family);
}

static void loop(struct family *family)
{
	/* Each process has tables of megabytes of which it uses little: fresh
	 * from the kernel they need not be cleared. */
	if (family->options->follow || family->options->stack_hz > 0)
		mallopt(M_MMAP_THRESHOLD, 128 << 10);
	while (!is_done(family)) {
		struct stop stop;
		int r;

		leave_where_due(family);
		family_serve(family);
		reap_children(family);
		if (is_done(family))
			break;
		r = stop_wait(-1, true, &stop);
		if (r == 0)
			family_handle(family, &stop);
		else if (r == -ECHILD)
			break;
		if (wake_tick())
			tick(family);
	}
}

/* We let it go, but are its parent still: wait for its end. */
static void wait_for_end(struct session *session)
{
	struct stop stop;
	int r;

	log_flush(session->log);
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
	struct family *family = session->family;

	while (family->sessions->next)
		reap(family->sessions->next);
	settle_end(session);
	if (family->options->follow == FOLLOW_ONE_LOG)
		report_process(session);
	report_summary(session);
	*ret = (struct outcome){ session->ended, session->status,
				 report_unmatched(session) };
	if (session->failure && !err->text[0])
		error_set(err, session->failure,
			  "tracing failed (%s in %s); the target was let go "
			  "as it was",
			  strerror(-session->failure), session->failed_at);
	else if (session->log->number && !err->text[0])
		error_set(err, session->log->number, "cannot write the log: %s",
			  strerror(-session->log->number));
	return err->text[0] ? TRACER_FAILED : 0;
}

static void begin(struct session *session, struct listing *listing)
{
	int r;

	if (listing) {
		session_fail(session, list_take(session, listing), "list_take");
		return;
	}
	r = session_arm(session, NULL);
	session_fail(session, r == -EAGAIN ? 0 : r, "session_arm");
}

int tracer_attach(const struct options *options, pid_t pid, struct outcome *ret,
		  struct error *err)
{
	_cleanup_(family_freep) struct family *family = NULL;
	_cleanup_(listing_freep) struct listing *listing = NULL;
	struct session *session;
	int r;

	*err = (struct error){ 0 };
	r = limits_raise(err);
	if (r == 0)
		r = wake_install(0);
	if (r == 0)
		r = family_new(options, false, &family, err);
	if (r < 0)
		return TRACER_FAILED;
	session = family->sessions;
	r = wake_every(slice_tick_ms(session));
	if (r < 0) {
		error_set(err, r, "cannot set a timer: %s", strerror(-r));
		return TRACER_FAILED;
	}

	if (options->list)
		r = listing_new(pid, &listing, err);
	if (r == 0)
		r = seize(session, pid, err);
	if (r == 0) {
		begin(session, listing);
		session->parked = true;
		session_serve(session);
		loop(family);
		if (listing && !session->failure)
			session_fail(session, list_tell(session, listing, err),
				     "list_tell");
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
	_cleanup_(family_freep) struct family *family = NULL;
	struct session *session;
	int r;

	*err = (struct error){ 0 };
	r = permission_check_program(argv[0], err);
	if (r != 0)
		return r < 0 ? TRACER_FAILED : r;
	r = limits_raise(err);
	if (r == 0)
		r = family_new(options, true, &family, err);
	if (r < 0)
		return TRACER_FAILED;
	session = family->sessions;

	/* Handlers come after the fork: the program inherits what we did. */
	r = spawn(session, argv, err);
	if (r < 0)
		return TRACER_FAILED;
	session_fail(session, wake_install(session->process->pid),
		     "wake_install");
	session_fail(session, wake_every(slice_tick_ms(session)), "wake_every");
	loop(family);
	if (!session->ended)
		wait_for_end(session);
	r = spawn_explain(session, argv[0], err);
	if (r == 0)
		r = conclude(session, ret, err);
	wake_restore();
	return r;
}
