/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracer/growth.h"
#include "tracer/process/inject.h"
#include "tracer/process/limit.h"

bool growth_below(const struct session *session, uint64_t addr)
{
	const struct mapping *next =
		addr < session->watch.low
			? maps_above(session->process->maps, addr)
			: NULL;

	return next && strcmp(next->path, "[stack]") == 0;
}

/* By RLIMIT_STACK, if the stack were one piece. */
static uint64_t lowest(const struct session *session)
{
	const struct maps *maps = session->process->maps;
	const struct mapping *m = maps_stack(maps);
	struct rlimit limit;
	uint64_t end;

	if (!m ||
	    limit_get(process_proc(session->process), RLIMIT_STACK, &limit) < 0)
		return 0;
	do
		end = m++->end;
	while (m < maps->mapping + maps->count && m->start == end &&
	       strcmp(m->path, "[stack]") == 0);
	return end > limit.rlim_cur ? page_up(end - limit.rlim_cur) : 0;
}

void growth_note(struct session *session)
{
	struct watch *watch = &session->watch;
	const struct mapping *m = maps_stack(session->process->maps);

	uint64_t low = m ? m->start : 0;

	/* Not what was added too far since it was armed. */
	if (low < watch->low)
		low = min_u64(watch->low, max_u64(low, lowest(session)));
	watch->low = m && ranges_find(&watch->pages, low) ? low : 0;
}

bool growth_exceeds(const struct session *session, uint64_t addr)
{
	return growth_below(session, addr) && addr < lowest(session);
}

int growth_deny(struct thread *thread)
{
	siginfo_t info;
	int r = trace_get_siginfo(thread->tid, &info);

	if (r < 0 || info.si_code != SEGV_ACCERR)
		return r;
	info.si_code = SEGV_MAPERR;
	return trace_set_siginfo(thread->tid, &info);
}

int growth_trim(struct session *session, struct injection *injection)
{
	const struct mapping *m = maps_stack(session->process->maps);
	uint64_t low = session->watch.low;
	int64_t result;

	session->watch.low = 0;
	if (!low || !m || m->start >= low)
		return 0;
	session->process->maps_stale = true;
	return inject_call(injection, SYS_munmap,
			   (uint64_t[6]){ m->start, low - m->start }, &result);
}

static int take_in(struct session *session, const struct mapping *m,
		   uint64_t low, int prot, struct ranges *open)
{
	struct guard *guard = &session->guard;
	uint64_t end = min_u64(m->end, session->watch.low);
	uint64_t start = max_u64(m->start, low);
	int r = ranges_add(&guard->pages, start, end, (uint64_t)prot);

	if (r == 0 && guard_looks_closed(guard, m->prot, prot))
		return ranges_add(&guard->closed, start, end, (uint64_t)prot);
	return r == 0 && open ? ranges_add(open, start, end, 0) : r;
}

int growth_look(struct session *session, struct ranges *open)
{
	struct watch *watch = &session->watch;
	int r, spec, prot = guard_prot(&session->guard, watch->low);
	const struct mapping *m, *stop;
	uint64_t low;

	if (!watch->low || prot < 0)
		return 0;
	session->process->maps_stale = true;
	r = process_remap(session->process);
	m = r < 0 ? NULL : maps_stack(session->process->maps);
	if (!m || m->start >= watch->low)
		return r;
	low = max_u64(m->start, lowest(session));
	if (low >= watch->low)
		return 0;
	stop = session->process->maps->mapping + session->process->maps->count;
	spec = watch_hit(watch, watch->low, 1);
	while (m->end <= low)
		m++;
	if (spec >= 0 && watch->spec[spec].kind == SPEC_MAP)
		r = ranges_add(&watch->bytes, low, watch->low, (uint64_t)spec);
	if (r == 0 && ranges_find(&watch->named, watch->low))
		r = ranges_add(&watch->named, low, watch->low, 0);
	for (; r == 0 && m < stop && m->start < watch->low; m++)
		r = take_in(session, m, low, prot, open);
	watch->low = low;
	return r;
}

int growth_opened(struct session *session, struct ranges *opened, bool all)
{
	struct ranges late = { 0 };
	uint64_t low = session->watch.low;
	int r;

	if (!low || !ranges_overlap(opened, low, low + PAGE)) {
		if (!all)
			ranges_clear(opened);
		return 0;
	}
	r = growth_look(session, &late);
	low = session->watch.low;
	if (!all) {
		ranges_clear(opened);
		r = first_error(r, ranges_add(opened, low, low + PAGE, 0));
	}
	r = first_error(r, ranges_join(opened, &late));
	ranges_done(&late);
	return r;
}

/*
 * A call that reads there makes the kernel grow it, and fails or finds zeros:
 * to block no signal.
 */
static int touch(struct session *session, struct thread *thread, uint64_t addr)
{
	const uint64_t args[6] = { SIG_BLOCK, addr, 0, sizeof(uint64_t) };
	struct injection injection;
	int64_t result;
	int r = inject_begin(&injection, thread);

	if (r == 0)
		r = inject_call(&injection, SYS_rt_sigprocmask, args, &result);
	r = first_error(r, inject_end(&injection));
	return r == 0 ? growth_look(session, NULL) : r;
}

int growth_reach(struct session *session, struct thread *thread, uint64_t addr)
{
	if (!growth_below(session, addr) || growth_exceeds(session, addr))
		return 0;
	if (maps_find(session->process->maps, addr))
		return growth_look(session, NULL);
	return touch(session, thread, page_down(addr));
}
