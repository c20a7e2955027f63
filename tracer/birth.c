/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "tracer/async.h"
#include "tracer/confined.h"
#include "tracer/family.h"
#include "tracer/fault.h"
#include "tracer/follow.h"
#include "tracer/idle.h"
#include "tracer/privilege.h"
#include "tracer/process/mem.h"
#include "tracer/process/program.h"
#include "tracer/refuse.h"
#include "tracer/sample.h"
#include "tracer/session.h"
#include "tracer/survive.h"
#include "tracer/userfault.h"

static const struct verdict run = { VERDICT_RUN, 0 };
static const struct verdict gone = { VERDICT_GONE, 0 };

/* Where kcmp(2) is not there: what the call that is under way asked for. */
static bool flags_share(const struct thread *parent)
{
	struct user_regs_struct regs;
	uint64_t flags = 0;

	if (trace_get_regs(parent->tid, &regs) < 0)
		return false;
	switch (regs.orig_rax) {
	case SYS_vfork:
		return true;
	case SYS_clone:
		return regs.rdi & CLONE_VM;
	case SYS_clone3:
		(void)!mem_read(parent->process->mem, regs.rdi, &flags,
				sizeof(flags));
		return flags & CLONE_VM;
	default:
		return false;
	}
}

static bool shares_memory(const struct thread *parent, pid_t child)
{
	long r = syscall(SYS_kcmp, parent->tid, child, KCMP_VM, 0, 0);

	return r < 0 ? flags_share(parent) : r == 0;
}

/* The rights that a page of the parent has by now; -1: it has no such page. */
static int prot_in_parent(const struct session *session, uint64_t at)
{
	const struct mapping *m = maps_find(session->process->maps, at);

	return m ? m->prot : -1;
}

/*
 * What is closed in the child of @range, whose tag is the program's rights.
 * The child's map may have holes where the parent has memory by now, and one
 * mprotect(2) would stop there.  @dropped: it was given up between the fork
 * and now, and is open in the parent.
 */
static int open_closed(struct session *session, struct injection *injection,
		       const struct range *range, bool dropped)
{
	const struct maps *maps = injection->thread->process->maps;
	const struct mapping *m, *stop = maps->mapping + maps->count;
	int prot = (int)range->tag, r = 0;
	int closed = guard_closed_prot(&session->guard, prot);

	m = maps_above(maps, range->start);
	for (; r == 0 && m && m < stop && m->start < range->end; m++) {
		uint64_t at = max_u64(m->start, range->start);

		if (!guard_looks_closed(&session->guard, m->prot, prot) ||
		    closed == prot ||
		    (dropped && prot_in_parent(session, at) != prot))
			continue;
		/* Sealed, say: nothing that could be done. */
		r = inject_protect_back(injection, at,
					min_u64(m->end, range->end), prot);
		r = r == -ESRCH ? r : 0;
	}
	return r;
}

static int open_all_closed(struct session *session, struct injection *injection,
			   const struct ranges *pages)
{
	const struct ranges *dropped = &session->guard.dropped;
	int r = process_remap(injection->thread->process);

	if (r == 0 && dropped->count) {
		session->process->maps_stale = true;
		r = process_remap(session->process);
	}
	for (size_t i = 0; r == 0 && i < dropped->count; i++)
		r = open_closed(session, injection, &dropped->range[i], true);
	for (size_t i = 0; r == 0 && i < pages->count; i++)
		r = open_closed(session, injection, &pages->range[i], false);
	return r;
}

/* A copy of ours is in the child, too: pages closed, scratch memory. */
static int clean_child(struct session *session, struct thread *thread,
		       const struct ranges *pages)
{
	struct injection injection;
	int r = inject_begin(&injection, thread);

	if (r == 0 && thread->process->survival.address)
		r = survival_clean(&injection);
	if (r == 0)
		r = open_all_closed(session, &injection, pages);
	if (r == 0)
		r = inject_unscratch(&injection);
	return first_error(r, inject_end(&injection));
}

/* The first stop of a forked child: make it whole and let it go. */
static void release_child(struct session *session, pid_t tid,
			  const struct ranges *pages)
{
	_cleanup_(process_freep) struct process *child = NULL;
	struct thread *thread;

	if (process_new(tid, &child) < 0 ||
	    process_add(child, tid, &thread) < 0) {
		idle_let_go(session, tid);
		return;
	}
	child->syscall_insn = session->process->syscall_insn;
	child->scratch = session->process->scratch;
	child->options = session->process->options;
	child->seccomp = session->process->seccomp;
	child->filters = session->process->filters;
	child->survival.address = session->process->survival.address;
	thread->stop = (struct stop){ .tid = tid, .kind = STOP_INTERRUPT };
	thread_set_state(thread, THREAD_STOPPED);
	if ((child->scratch.start || pages->count) && !confined(thread))
		(void)!clean_child(session, thread, pages);
	idle_let_go(session, tid);
}

static void drop_child(struct session *session, pid_t tid, struct ranges *pages)
{
	table_remove(&session->children, (uint64_t)tid);
	ranges_done(pages);
	free(pages);
}

/* What was ours at the time of the fork, for when the child stops. */
static void expect_child(struct session *session, pid_t tid)
{
	const struct guard *guard = &session->guard;
	struct ranges *pages = calloc(1, sizeof(*pages));
	int r = pages ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < guard->pages.count; i++)
		r = ranges_add(pages, guard->pages.range[i].start,
			       guard->pages.range[i].end,
			       guard->pages.range[i].tag);
	if (r == 0)
		r = table_put(&session->children, (uint64_t)tid, pages);
	if (r < 0) {
		session_fail(session, r, __func__);
		free(pages);
	}
}

static int adopt(struct session *session, struct thread *parent, pid_t tid)
{
	struct thread *thread;
	int r = process_add(session->process, tid, &thread);

	if (r < 0)
		return r;
	thread->tgid = (pid_t)process_status(tid, "Tgid", 10,
					     (uint64_t)session->process->pid);
	thread->mask = parent->mask;
	thread->mask_known = parent->mask_known;
	survive_birth(session, parent, thread);
	return 0;
}

/*
 * Its parent is to find it free, as it would without us: to trace it, say.  So
 * it goes first; a newborn stops, or dies, without anybody's help.  But where
 * it was frozen, or reads in a page of a slow file to write its number to, that
 * may take long: then it is freed when its stop comes.
 */
static bool await_child(pid_t tid, struct stop *ret)
{
	const uint64_t patience = 1000000000; /* ns */

	return stop_wait_for(tid, patience, ret) == 0;
}

struct verdict session_clone(struct session *session, struct thread *thread)
{
	bool vfork = thread->stop.value == PTRACE_EVENT_VFORK;
	unsigned long message = 0;
	struct stop stop;
	bool shares, leaves = false;
	pid_t tid;
	int r = trace_event_message(thread->tid, &message);

	tid = (pid_t)message;
	if (r < 0 || tid <= 0 || family_knows(session->family, tid))
		return run;
	shares = shares_memory(thread, tid);
	thread->vforking = vfork;
	if (shares)
		r = adopt(session, thread, tid);
	else
		leaves = !follow_fork(session, thread, tid);
	if (leaves)
		expect_child(session, tid);
	if (r < 0)
		session_fail(session, r, __func__);
	session->sieve.forks |= vfork || !shares;
	if ((thread->stop.value != PTRACE_EVENT_CLONE || !shares) &&
	    session->log->began)
		report_fork(session, tid, vfork);

	if (family_claim(session->family, tid, &stop) ||
	    (leaves && await_child(tid, &stop)))
		family_arrive(session->family, &stop);
	return run;
}

void session_arrive(struct session *session, const struct stop *stop)
{
	struct thread *thread = process_thread(session->process, stop->tid);
	struct ranges *pages =
		table_get(&session->children, (uint64_t)stop->tid);

	if (thread) {
		thread->stop = *stop;
		thread_set_state(thread, THREAD_PARKED);
		session->parked = true;
	} else if (pages) {
		if (!stop_is_end(stop))
			release_child(session, stop->tid, pages);
		drop_child(session, stop->tid, pages);
	}
}

void session_orphan(struct session *session, const struct stop *stop)
{
	if (!follow_fork(session, NULL, stop->tid))
		expect_child(session, stop->tid);
	family_arrive(session->family, stop);
}

/*
 * Children of threads that died before their fork could be told: forked they
 * are, and nobody else will free them.
 */
static void release_orphans(struct session *session)
{
	struct stop stop;

	while (family_inherit(session->family, session, &stop))
		session_orphan(session, &stop);
}

void session_ended(struct session *session)
{
	session->ended = true;
	session->ended_ns = session_now();
	release_orphans(session);
}

/* All but the thread that exec'ed are gone; it has the pid now. */
static void drop_others(struct session *session, struct thread *survivor)
{
	struct process *process = session->process;
	struct table old = process->threads;

	process->threads = (struct table){ 0 };
	table_for_each(&old, s)
	{
		struct thread *thread = s->value;

		sample_last(session, thread);
		session_call_forget(session, thread);
		if (thread == survivor)
			continue;
		if (thread->tgid != process->pid &&
		    table_put(&process->threads, (uint64_t)thread->tid,
			      thread) == 0)
			continue; /* a vfork child of before: still there */
		stack_drop(session, thread);
		thread_free(thread);
	}
	table_done(&old);
	if (table_put(&process->threads, (uint64_t)survivor->tid, survivor) < 0)
		session_fail(session, -ENOMEM, __func__);
}

static const char *untraceable(const struct thread *thread)
{
	char path[48];

	if (confined(thread))
		return "confined itself before (seccomp)";
	snprintf(path, sizeof(path), "/proc/%d/exe",
		 process_proc(thread->process));
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : program_unsuitable(fd);
}

/* What was known of the memory that is gone. */
static void forget_program(struct session *session)
{
	guard_done(&session->guard);
	shadow_done(&session->shadow);
	ranges_clear(&session->pinned);
	ranges_clear(&session->reclose);
	session->pins = 0;
	session->watch.low = 0;
	ranges_clear(&session->watch.newborn);
	session->rooms = (struct rooms){ 0 };
	fault_forget(session);
	session->rewrites = false;
	userfault_forget(session);
	async_forget(session);
	resolver_free(session->resolver);
	session->resolver = NULL;
	session->world_remaps = 0;
	stack_forget(session);
	jitmap_done(&session->stacks.jitmap);
	session->sieve.forks = false;
}

struct verdict session_exec(struct session *session, struct thread *thread)
{
	struct process *process = session->process;
	const char *why;
	bool hidden;
	int r;

	if (thread->tgid != process->pid) {
		/* A vfork child: its memory is its own now. */
		if (!follow_exec(session, thread))
			idle_let_go(session, thread->tid);
		sample_last(session, thread);
		session_call_forget(session, thread);
		stack_drop(session, thread);
		process_remove(process, thread);
		return gone;
	}
	release_orphans(session);
	drop_others(session, thread);
	forget_program(session);
	thread_forget(thread);

	r = process_exec(process);
	hidden = r == -EACCES || r == -EPERM;
	if (r < 0 && !hidden) {
		session_fail(session, r, __func__);
		return run;
	}
	if (session_is_over(session))
		return run;
	if (session->log->began)
		report_exec(session);
	session->phase = PHASE_STARTING;
	session->overdue = false;
	session->armed_once = false;
	session->self_test = 0;
	why = hidden ? "may be executed, but not read, by you"
		     : untraceable(thread);
	if (!why)
		privilege_look(session);
	/* To sample it nothing has to be closed, on no way out opened. */
	r = why			  ? -ENOEXEC
	    : session->unwatching ? session_arm(session, thread)
				  : entry_await(session, thread);
	if (r < 0) {
		report_warning(session,
			       "the program that was exec'ed cannot be "
			       "traced: it %s; it runs untraced",
			       why ? why : "has no entry point we can find");
		session->end = "detached";
		session->phase = PHASE_DRAINING;
	}
	return run;
}
