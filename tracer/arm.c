/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>

#include "tracer/async.h"
#include "tracer/call.h"
#include "tracer/confined.h"
#include "tracer/family.h"
#include "tracer/fault.h"
#include "tracer/growth.h"
#include "tracer/huge.h"
#include "tracer/lift.h"
#include "tracer/mend.h"
#include "tracer/privilege.h"
#include "tracer/process/survival_layout.h"
#include "tracer/refuse.h"
#include "tracer/rewrites.h"
#include "tracer/session.h"
#include "tracer/survive.h"
#include "tracer/userfault.h"

/* Is one of the pinned (open for a call that blocks) pages here? */
static int drop_pinned(const struct session *session, struct ranges *pages)
{
	for (size_t i = 0; i < session->pinned.count; i++) {
		int r = ranges_remove(pages, session->pinned.range[i].start,
				      session->pinned.range[i].end);

		if (r < 0)
			return r;
	}
	return 0;
}

static int hold(struct session *session, enum hold how)
{
	int r = process_hold(session->process, NULL, how);

	session->parked = true;
	return r;
}

/*
 * A fault of ours that is not handled yet has changed mask and disposition if
 * SIGSEGV was blocked: they would be learnt wrong.
 */
static bool faults_pend(const struct session *session)
{
	table_for_each(&session->process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread_is_stopped(thread) &&
		    (fault_waits(thread) || fault_is_told(session, thread)))
			return true;
	}
	return false;
}

static void learn_masks(struct process *process)
{
	table_for_each(&process->threads, s)
	{
		struct thread *thread = s->value;

		if (thread_is_stopped(thread))
			lift_learn(thread);
	}
}

struct refused_context {
	struct session *session;
	int r;
};

static void on_refused(void *context, uint64_t start, uint64_t end, int number)
{
	struct refused_context *c = context;
	int r = ranges_add(&c->session->watch.refused, start, end,
			   REFUSED_KERNEL);

	c->r = first_error(c->r, r);
	report_warning(
		c->session, "the kernel refused to guard 0x%jx-0x%jx: %s",
		(uintmax_t)start, (uintmax_t)end,
		number == -EPERM || number == -EACCES ? "the mapping is sealed"
		: number == -ENOMEM ? "too many mappings (vm.max_map_count)"
				    : "mprotect failed");
}

/* What is watched now, into session->watch. */
static int resolve(struct session *session)
{
	/* Only at first is "no such symbol" an error for the user. */
	struct error *err = session->armed_once ? NULL : session->err;
	const struct scratch *scratch = &session->process->scratch;
	const struct survival *survival = &session->process->survival;
	int r;

	ranges_clear(&session->watch.never);
	session->process->maps_stale = true;
	r = session_refresh(session);
	if (r == 0)
		r = guard_reconcile(&session->guard, session->process->maps);
	/* The kernel may have joined it to memory of the program's. */
	if (r == 0)
		r = watch_refuse(&session->watch, scratch->start,
				 scratch->start + scratch->size, REFUSED_OURS);
	if (r == 0 && survival->shared)
		r = watch_refuse(&session->watch, survival->address,
				 survival->address + sizeof(*survival->shared),
				 REFUSED_OURS);
	if (r == 0)
		r = refuse_threads(&session->watch, session->process);
	if (r == 0)
		r = userfault_refuse(session);
	if (r == 0)
		r = async_refuse(session);
	if (r == 0)
		r = huge_refuse(&session->watch, session->process);
	if (r == 0)
		r = watch_resolve(&session->watch, session->process,
				  &session->guard, session->resolver, err);
	if (r == 0)
		growth_note(session);
	if (r < 0 && err && !err->text[0])
		error_set(err, r, "cannot find what to watch");
	return r;
}

/* What the kernel refused is not armed. */
static int drop_refused(struct watch *watch)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < watch->refused.count; i++)
		if (watch->refused.range[i].tag == REFUSED_KERNEL)
			r = ranges_remove(&watch->pages,
					  watch->refused.range[i].start,
					  watch->refused.range[i].end);
	return r;
}

static int close_pages(struct session *session, struct injection *injection)
{
	struct refused_context context = { session, 0 };
	int r = drop_pinned(session, &session->watch.pages);

	if (r == 0)
		r = survive_install(session, injection);
	if (r == 0)
		r = guard_arm(&session->guard, injection, &session->watch.pages,
			      on_refused, &context);
	r = first_error(r, context.r);
	return r < 0 ? r : drop_refused(&session->watch);
}

static int prepare(struct session *session, struct injection *injection)
{
	int r = inject_scratch(injection);

	if (r == 0 && session->phase != PHASE_ARMED)
		r = inject_dispositions(injection);
	if (r == 0 && !session->self_test)
		r = session_self_test(session, injection);
	if (r == 0)
		r = survive_prepare(session, injection);
	return r;
}

int session_inject(struct session *session, struct thread *thread,
		   int (*work)(struct session *session,
			       struct injection *injection))
{
	struct injection injection;
	int r = inject_begin(&injection, thread);

	if (r == 0)
		r = work(session, &injection);
	return first_error(r, inject_end(&injection));
}

/* Nothing is watched: only samples are taken. */
static int leave_free(struct session *session)
{
	if (!session->log->began)
		report_header(session);
	session->phase = PHASE_RESTING;
	session->armed_once = true;
	if (!session->family->armed_ns)
		session->family->armed_ns = session_now();
	return 0;
}

int session_arm(struct session *session, struct thread *injector)
{
	bool first = !session->armed_once;
	int r;

	if (session->unwatching)
		return leave_free(session);
	r = hold(session, HOLD_ARM);
	if (!injector)
		injector = inject_thread(session->process);
	if (r == 0 && !injector)
		return -EAGAIN;
	if (session->phase == PHASE_RESTING && faults_pend(session))
		return first_error(r, -EAGAIN);
	if (session->phase != PHASE_ARMED) {
		learn_masks(session->process);
		rewrites_look(session);
		userfault_look(session);
	}
	process_note_seccomp(session->process);
	if (session->phase != PHASE_ARMED && confined_any(session->process)) {
		confined_late(session);
		return -EAGAIN;
	}
	if (r == 0)
		r = session_inject(session, injector, prepare);
	if (r == 0)
		r = resolve(session);
	if (r == 0 && !session->log->began)
		report_header(session);
	if (r == 0)
		r = session_inject(session, injector, close_pages);
	if (r == 0)
		r = shadow_take(session);
	if (r < 0)
		return r;

	session->phase = PHASE_ARMED;
	session->armed_once = true;
	if (!session->family->armed_ns)
		session->family->armed_ns = session_now();
	if (first)
		report_armed(session);
	privilege_tell(session);
	return 0;
}

int session_rearm(struct session *session, struct thread *injector)
{
	struct ranges before = { 0 };
	uint64_t huge = huge_refused(&session->watch);
	int r = hold(session, HOLD_ARM);

	if (!injector)
		injector = inject_thread(session->process);
	if (r == 0 && !injector)
		return -EAGAIN;
	for (size_t i = 0; r == 0 && i < session->guard.pages.count; i++)
		r = ranges_add(&before, session->guard.pages.range[i].start,
			       session->guard.pages.range[i].end, 0);
	if (r == 0)
		r = resolve(session);
	if (r == 0)
		r = session_inject(session, injector, close_pages);
	if (r == 0)
		r = shadow_take(session);
	for (size_t i = 0; r == 0 && i < before.count; i++)
		r = ranges_remove(&session->watch.pages, before.range[i].start,
				  before.range[i].end);
	if (r == 0 && (session->watch.pages.count ||
		       huge_refused(&session->watch) > huge))
		report_armed(session);
	ranges_done(&before);
	return r;
}

static int open_all(struct session *session, struct injection *injection)
{
	int r = guard_open(&session->guard, injection, 0, UINT64_MAX);

	if (r == 0)
		r = growth_trim(session, injection);
	if (r == 0)
		r = mend(session, injection);
	return r < 0 ? r : survive_remove(session, injection);
}

/* All pages are open soon; calls that had them open need not close them. */
static void forget_pins(struct session *session)
{
	table_for_each(&session->process->threads, s)
	{
		struct thread *thread = s->value;

		if (thread->call)
			thread->call->pinned = false;
	}
	session->pins = 0;
	ranges_clear(&session->pinned);
	ranges_clear(&session->reclose);
}

int session_close(struct session *session, struct thread *thread,
		  struct ranges *opened)
{
	struct injection injection;
	int r = inject_begin(&injection, thread);

	for (size_t i = 0; r == 0 && i < opened->count; i++)
		r = guard_close_range(&session->guard, &injection,
				      opened->range[i].start,
				      opened->range[i].end);
	ranges_clear(opened);
	return first_error(r, inject_end(&injection));
}

int session_disarm(struct session *session)
{
	struct thread *injector;
	int r = hold(session, HOLD_USER);

	if (r < 0)
		return r;
	r = growth_look(session, NULL);
	if (r < 0)
		return r;
	forget_pins(session);
	if (session->guard.closed.count == 0 &&
	    !session->process->survival.installed)
		return 0;
	injector = inject_thread(session->process);
	if (!injector)
		return -EAGAIN;
	return session_inject(session, injector, open_all);
}

int session_refuse(struct session *session, struct thread *injector,
		   uint64_t start, uint64_t end, enum refusal why)
{
	struct injection injection;
	int r = watch_refuse(&session->watch, start, end, why);

	start = page_down(start);
	end = page_up(end);
	if (r < 0 || !ranges_overlap(&session->guard.pages, start, end))
		return r;

	r = inject_begin(&injection, injector);
	if (r == 0)
		r = guard_drop(&session->guard, &injection, start, end);
	r = first_error(r, inject_end(&injection));
	if (r == 0)
		report_closed(session, start, end, refusal_name(why));
	return r;
}
