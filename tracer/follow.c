/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/family.h"
#include "tracer/follow.h"
#include "tracer/survive.h"

struct newborn {
	/* Given up by the parent since the fork, maybe: closed yet; tag:
	 * their rights. */
	struct ranges late;
};

void follow_newborn_free(struct newborn *newborn)
{
	if (!newborn)
		return;
	ranges_done(&newborn->late);
	free(newborn);
}

/* That the parent gave them up is only sure of those it has open now. */
static int find_late(struct session *parent, struct ranges *late)
{
	const struct ranges *dropped = &parent->guard.dropped;
	struct process *process = parent->process;
	int r = 0;

	if (!dropped->count)
		return 0;
	process->maps_stale = true;
	r = process_remap(process);
	for (size_t i = 0; r == 0 && i < dropped->count; i++) {
		const struct range *range = &dropped->range[i];
		const struct mapping *m =
			maps_above(process->maps, range->start);
		const struct mapping *stop =
			process->maps->mapping + process->maps->count;

		for (; r == 0 && m && m < stop && m->start < range->end; m++)
			if (m->prot == (int)range->tag)
				r = ranges_add(late,
					       max_u64(m->start, range->start),
					       min_u64(m->end, range->end),
					       range->tag);
	}
	return r;
}

static int copy_watch(struct watch *to, const struct watch *from)
{
	int r = ranges_join(&to->bytes, &from->bytes);

	if (r == 0)
		r = ranges_join(&to->never, &from->never);
	if (r == 0)
		r = ranges_join(&to->refused, &from->refused);
	if (r == 0)
		r = ranges_join(&to->named, &from->named);
	to->low = from->low;
	for (size_t i = 0; i < from->nspecs; i++)
		to->found[i] = from->found[i];
	return r;
}

static int copy_session(struct session *child, struct session *parent)
{
	int r = ranges_join(&child->guard.pages, &parent->guard.pages);

	if (r == 0)
		r = find_late(parent, &child->newborn->late);
	if (r == 0)
		r = ranges_join(&child->guard.pages, &child->newborn->late);
	if (r == 0)
		r = copy_watch(&child->watch, &parent->watch);
	child->phase = parent->phase;
	child->survives = parent->survives;
	child->slice_ns = parent->slice_ns;
	child->arming_ns = parent->arming_ns;
	child->rest_ns = parent->rest_ns;
	child->rescan_ns = parent->rescan_ns;
	child->self_test = parent->self_test;
	child->entry = parent->entry;
	child->entry_mask = parent->entry_mask;
	child->entry_prot = parent->entry_prot;
	child->entry_ignored = parent->entry_ignored;
	return r;
}

static void copy_process(struct process *child, const struct process *parent)
{
	child->options = parent->options;
	child->seccomp = parent->seccomp;
	child->syscall_insn = parent->syscall_insn;
	child->scratch = parent->scratch;
	child->dispositions = parent->dispositions;
	child->survival.address = parent->survival.address;
}

static void copy_thread(struct thread *child, const struct thread *parent)
{
	child->mask = parent->mask;
	child->mask_known = parent->mask_known;
	child->fs_base = parent->fs_base;
	child->altstack = parent->altstack;
	child->altstack_size = parent->altstack_size;
}

/* A session for @tid, of which nothing is known yet. */
static int new_session(struct session *parent, pid_t tid, struct session **ret,
		       struct thread **thread, struct error *err)
{
	struct session *child;
	int r = session_new(parent->family, false, &child, err);

	if (r < 0)
		return r;
	r = process_new(tid, &child->process);
	if (r == 0)
		r = process_add(child->process, tid, thread);
	if (r < 0)
		error_set(err, r, "%s", strerror(-r));
	else
		r = family_log(child, err);
	if (r < 0) {
		family_remove(parent->family, child);
		return r;
	}
	child->process->options = parent->process->options;
	child->process->seccomp = parent->process->seccomp;
	*ret = child;
	return 0;
}

/* -ENOENT and -ESRCH: it is dead already. */
static void tell(struct session *parent, pid_t tid, int r,
		 const struct error *err)
{
	if (r != -ENOENT && r != -ESRCH)
		report_warning(parent, "process %d runs untraced: %s", tid,
			       err->text);
}

bool follow_fork(struct session *parent, const struct thread *thread, pid_t tid)
{
	struct error err = { 0 };
	struct thread *newborn;
	struct session *child;
	int r;

	if (!parent->options->follow || session_is_over(parent))
		return false;
	r = new_session(parent, tid, &child, &newborn, &err);
	if (r == 0) {
		child->newborn = calloc(1, sizeof(*child->newborn));
		r = child->newborn ? copy_session(child, parent) : -ENOMEM;
		error_set(&err, r, "%s", strerror(-r));
		if (r < 0)
			family_remove(parent->family, child);
	}
	if (r < 0) {
		tell(parent, tid, r, &err);
		return false;
	}
	copy_process(child->process, parent->process);
	if (thread)
		copy_thread(newborn, thread);
	return true;
}

/* What is closed in its map, whatever the parent did meanwhile. */
static int note_closed(struct guard *guard, const struct maps *maps)
{
	const struct mapping *stop = maps->mapping + maps->count;
	int r = 0;

	for (size_t i = 0; r == 0 && i < guard->pages.count; i++) {
		const struct range *page = &guard->pages.range[i];
		const struct mapping *m = maps_above(maps, page->start);
		int prot = (int)page->tag;

		if (guard_closed_prot(guard, prot) == prot)
			continue;
		for (; r == 0 && m && m < stop && m->start < page->end; m++)
			if (guard_looks_closed(guard, m->prot, prot))
				r = ranges_add(&guard->closed,
					       max_u64(m->start, page->start),
					       min_u64(m->end, page->end),
					       page->tag);
	}
	return r;
}

static int drop_late(struct session *session, struct injection *injection)
{
	const struct ranges *late = &session->newborn->late;
	int r = 0;

	for (size_t i = 0; r == 0 && i < late->count; i++)
		r = guard_drop(&session->guard, injection, late->range[i].start,
			       late->range[i].end);
	return r;
}

/* The memory of the survival handler it shares with its parent as yet. */
static int part(struct injection *injection)
{
	int r;

	if (!injection->thread->process->survival.address)
		return 0;
	r = survival_clean(injection);
	return r < 0 ? r : survival_unmap(injection);
}

static int settle(struct session *session, struct injection *injection)
{
	struct guard *guard = &session->guard;
	int r = part(injection);

	if (r == 0)
		r = drop_late(session, injection);
	if (r < 0 || session->phase != PHASE_ARMED)
		return r < 0 ? r : guard_open(guard, injection, 0, UINT64_MAX);
	r = survive_prepare(session, injection);
	guard_publish(guard);
	if (r == 0)
		r = survive_install(session, injection);
	/* What the parent had open for a call, or had seen already. */
	return r < 0 ? r : guard_close_range(guard, injection, 0, UINT64_MAX);
}

static int settle_in(struct session *session, struct thread *thread)
{
	struct process *process = session->process;
	struct guard *guard = &session->guard;
	int r = session_refresh(session);

	if (r == 0)
		r = note_closed(guard, process->maps);
	if (r == 0)
		r = guard_reconcile(guard, process->maps);
	if (r == 0 && (session->phase == PHASE_ARMED || guard->closed.count ||
		       process->survival.address))
		r = session_inject(session, thread, settle);
	if (r < 0 || session->phase != PHASE_ARMED)
		return r;
	session->armed_once = true;
	r = ranges_join(&session->watch.pages, &guard->pages);
	if (r == 0)
		r = shadow_take(session);
	if (r == 0 && !session->log->began)
		report_header(session);
	if (r == 0)
		report_armed(session);
	return r;
}

struct verdict follow_born(struct session *session, struct thread *thread)
{
	int r = settle_in(session, thread);

	follow_newborn_free(session->newborn);
	session->newborn = NULL;
	if (r != -ESRCH)
		session_fail(session, r, __func__);
	return (struct verdict){ VERDICT_RUN, 0 };
}

bool follow_exec(struct session *parent, struct thread *thread)
{
	struct error err = { 0 };
	struct thread *survivor;
	struct session *child;
	int r;

	if (!parent->options->follow)
		return false;
	r = new_session(parent, thread->tid, &child, &survivor, &err);
	if (r < 0) {
		tell(parent, thread->tid, r, &err);
		return false;
	}
	survivor->stop = thread->stop;
	thread_set_state(survivor, THREAD_PARKED);
	child->parked = true;
	return true;
}
