/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tracer/data_limit.h"
#include "tracer/fault.h"

enum { NUMBER_MSEAL = 462 }; /* glibc 2.36 has no name for it */

/* The heap's end moves down: what lies above is unmapped. */
static unsigned cut_off(const struct maps *maps, uint64_t end,
			struct range *ret)
{
	const struct mapping *stop = maps->mapping + maps->count;
	const struct mapping *m = end ? maps_above(maps, page_up(end)) : NULL;

	*ret = (struct range){ page_up(end), page_up(end), 0 };
	for (; m && m < stop && strcmp(m->path, "[heap]") == 0; m++)
		ret->end = m->end;
	return ret->end > ret->start;
}

/* The memory that the call would change, up to two ranges. */
static unsigned affected(const struct process *process, const struct call *call,
			 struct range ret[2])
{
	const uint64_t *a = call->args;
	uint64_t size = a[1];
	unsigned count = 0;

	switch (call->number) {
	case SYS_brk:
		return cut_off(process->maps, a[0], ret);
	case SYS_mmap:
		if (!(a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
			return 0;
		break;
	case SYS_mremap:
		if (a[3] & MREMAP_FIXED)
			ret[count++] =
				(struct range){ a[4], a[4] + page_up(a[2]), 0 };
		if (!size) /* a second view of what is shared, as it is */
			size = a[2];
		break;
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_madvise:
	case SYS_mlock:
	case SYS_mlock2:
	case SYS_mbind:
	case SYS_remap_file_pages:
	case NUMBER_MSEAL:
		break;
	default:
		return 0;
	}
	ret[count++] =
		(struct range){ page_down(a[0]), page_up(a[0] + size), 0 };
	return count;
}

static bool locks_all(const struct call *call)
{
	return call->number == SYS_mlockall;
}

/* Under "first" a page that was seen is open, and must stay so. */
static int note_closed(struct session *session, struct thread *thread,
		       const struct call *call, const struct range *range,
		       unsigned count)
{
	const struct ranges *closed = &session->guard.closed;
	struct inflight *inflight = call_inflight(thread, call);
	int r = inflight ? 0 : -ENOMEM;

	for (unsigned i = 0; i < count; i++)
		for (size_t k = 0; r == 0 && k < closed->count; k++) {
			uint64_t low =
				max_u64(closed->range[k].start, range[i].start);
			uint64_t high =
				min_u64(closed->range[k].end, range[i].end);

			if (low < high)
				r = ranges_add(&inflight->opened, low, high, 0);
		}
	return r;
}

static int open_affected(struct session *session, struct thread *thread,
			 const struct range *range, unsigned count)
{
	struct injection injection;
	int r = inject_begin(&injection, thread);

	for (unsigned i = 0; r == 0 && i < count; i++)
		r = guard_open(&session->guard, &injection, range[i].start,
			       range[i].end);
	return first_error(r, inject_end(&injection));
}

/*
 * Guarded memory gets its own rights back before the program changes it, so
 * that the kernel and the program see what they would without us.  These
 * calls do not block, so the other threads are held the while.
 */
int mapcall_enter(struct session *session, struct thread *thread,
		  const struct call *call)
{
	struct range range[2];
	unsigned count, touched = 0;
	bool near;
	int r = process_remap(session->process);

	if (r < 0)
		return r;
	count = affected(session->process, call, range);
	near = data_limit_is_near(session, thread, call);
	if (near || locks_all(call)) {
		range[0] = (struct range){ 0, UINT64_MAX, 0 };
		count = 1;
	}
	for (unsigned i = 0; i < count; i++)
		touched += ranges_overlap(&session->guard.pages, range[i].start,
					  range[i].end) != NULL;
	if (!touched)
		return 0;

	r = process_hold(session->process, thread, HOLD_USER);
	session->parked = true;
	if (r == 0 && (near || session->policy == POLICY_FIRST))
		r = note_closed(session, thread, call, range, count);
	if (r == 0)
		r = open_affected(session, thread, range, count);
	if (r == 0)
		r = inplace_run(thread);
	/* Not back yet: it will be; its pages are open meanwhile. */
	if (r == 0 && session->process->threads.count > 1)
		report_unseen(session,
			      "pages were open to all threads during %s",
			      syscall_name(call->number));
	return r;
}

static bool may_add_memory(const struct call *call)
{
	return call->number == SYS_mmap || call->number == SYS_brk ||
	       call->number == SYS_mremap || call->number == SYS_mprotect ||
	       call->number == SYS_shmat;
}

/* Does something that the user wants wait for new memory? */
static bool wants_more(const struct session *session)
{
	const struct watch *watch = &session->watch;

	if (watch->nspecs == 0 || watch->births)
		return true;
	for (size_t i = 0; i < watch->nspecs; i++)
		if (watch->spec[i].kind == SPEC_MAP || !watch->found[i])
			return true;
	return false;
}

static int close_again(struct session *session, struct thread *thread,
		       const struct range *range, size_t count)
{
	struct injection injection;
	int r = inject_begin(&injection, thread);

	for (size_t i = 0; r == 0 && i < count; i++)
		r = guard_close_range(&session->guard, &injection,
				      range[i].start, range[i].end);
	return first_error(r, inject_end(&injection));
}

/* What was opened beside what the call is about, or NULL. */
static const struct ranges *opened_for(const struct thread *thread)
{
	const struct inflight *inflight = thread->call;

	return inflight && inflight->opened.count ? &inflight->opened : NULL;
}

static int close_affected(struct session *session, struct thread *thread,
			  const struct call *call, const struct range *range,
			  unsigned count)
{
	static const struct range all = { 0, UINT64_MAX, 0 };
	const struct ranges *opened = opened_for(thread);
	int r = 0;

	if (session->policy != POLICY_FIRST)
		r = locks_all(call)
			    ? close_again(session, thread, &all, 1)
			    : close_again(session, thread, range, count);
	if (r == 0 && opened)
		r = close_again(session, thread, opened->range, opened->count);
	return r;
}

int mapcall_exit(struct session *session, struct thread *thread,
		 const struct call *call, int64_t result)
{
	struct range range[2];
	unsigned count = affected(session->process, call, range);
	bool failed = result < 0 && result >= -4095;
	bool touched = opened_for(thread);
	int r;

	for (unsigned i = 0; i < count; i++)
		touched |= ranges_overlap(&session->guard.pages, range[i].start,
					  range[i].end) != NULL;
	if (!touched && failed)
		return 0;
	session->process->maps_stale = true;
	fault_forget(session);
	if (session->policy == POLICY_SAMPLE || session->phase != PHASE_ARMED)
		return 0; /* the next slice looks at everything */
	if (touched || locks_all(call)) {
		r = process_remap(session->process);
		if (r == 0)
			r = guard_reconcile(&session->guard,
					    session->process->maps);
		if (r == 0)
			r = close_affected(session, thread, call, range, count);
		if (r < 0)
			return r;
	}
	if (!failed && may_add_memory(call) && wants_more(session))
		return session_rearm(session, thread);
	return 0;
}
