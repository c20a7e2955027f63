/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tracer/slice.h"

enum {
	SLICE_NS = 40000000, /* of a broad watch, at most */
	SLICE_EVENTS = 1000, /* and so many events */
	RESCAN_MS = 200,     /* for newborn objects */
	MS = 1000000,	     /* in ns */
};

unsigned slice_tick_ms(const struct session *session)
{
	double period =
		session->policy == POLICY_SAMPLE ? 1000 / session->hz : 20;

	/* twice as often as needed for these, that none comes late */
	if (session->options->stack_hz > 0 &&
	    period > 1000 / session->options->stack_hz)
		period = 1000 / session->options->stack_hz;
	return period < 5 ? 1 : period < 20 ? (unsigned)period / 2 : 10;
}

static void note(struct session *session, int r)
{
	/* -EAGAIN: nobody stands still who could do it; the next tick may, or
	 * who gets a signal and is stopped once more behind it. */
	session->eager = r == -EAGAIN;
	if (r < 0 && r != -EAGAIN && r != -ESRCH)
		session_fail(session, r, __func__);
}

/*
 * To close and to open many pages of many threads may take longer than the
 * time from slice to slice: then the program would not come forward.  It runs
 * freely, or at its own pace, for as long as that took, @spent.
 */
static void grant_rest(struct session *session, uint64_t spent)
{
	session->rest_ns = max_u64(session->rest_ns, session_now() + spent);
}

static void begin(struct session *session, uint64_t now)
{
	int r = session_arm(session, NULL);

	note(session, r);
	if (r < 0)
		return;
	session->counts.slices++;
	session->slice_events = 0;
	session->arming_ns = session_now() - now;
	session->slice_ns = session_now() + SLICE_NS;
	session->rest_ns = now + (uint64_t)(1e9 / session->hz);
	grant_rest(session, session->arming_ns);
}

void slice_end(struct session *session)
{
	uint64_t now = session_now(), left = session->slice_ns;
	uint64_t slice = SLICE_NS - (left > now ? left - now : 0);
	int r = session_disarm(session);

	note(session, r);
	session->overdue = r == -EAGAIN;
	if (r < 0)
		return;
	session->phase = PHASE_RESTING;
	/* What it slept beyond the slice took nothing from it. */
	grant_rest(session, session->arming_ns + slice + session_now() - now);
	session->arming_ns = 0;
}

static void sample(struct session *session, uint64_t now)
{
	bool armed = session->phase == PHASE_ARMED;

	if (armed && session->broad &&
	    (now >= session->slice_ns || session->slice_events >= SLICE_EVENTS))
		slice_end(session);
	else if ((!armed || !session->broad) && now >= session->rest_ns)
		begin(session, now);
}

static uint64_t objects(const struct watch *watch)
{
	uint64_t count = 0;

	for (size_t i = 0; i < watch->nspecs; i++)
		if (watch->spec[i].kind == SPEC_CLASS)
			count += watch->found[i];
	return count;
}

static bool has_class(const struct watch *watch)
{
	for (size_t i = 0; i < watch->nspecs; i++)
		if (watch->spec[i].kind == SPEC_CLASS)
			return true;
	return false;
}

static void rescan(struct session *session, uint64_t now)
{
	uint64_t before = objects(&session->watch), after;

	if (now < session->rescan_ns || !has_class(&session->watch) ||
	    session->watch.births)
		return;
	note(session, session_rearm(session, NULL));
	after = objects(&session->watch);
	if (after > before)
		session->watch.born += after - before;
	session->rescan_ns = session_now() + RESCAN_MS * UINT64_C(1) * MS;
}

void slice_tick(struct session *session)
{
	uint64_t now = session_now();

	/* An exec'ed program is armed at its entry point. */
	if (session->phase == PHASE_STARTING &&
	    (session->run || session->entry || session->options->list))
		return;
	if (session->unwatching && session->armed_once)
		return;
	/* Nobody stood still in whom the first arming could be done. */
	if (!session->armed_once && session->policy != POLICY_SAMPLE)
		note(session, session_arm(session, NULL));
	else if (session->policy == POLICY_SAMPLE)
		sample(session, now);
	else
		rescan(session, now);
}
