/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tracer/call.h"
#include "tracer/process/mem.h"

enum {
	SPARED_FIRST = 128, /* calls; twice as many for each further filter */
	FILTERS = 8,
	CAP_ADMIN = 21, /* CAP_SYS_ADMIN */
};

static const struct verdict run = { VERDICT_RUN, 0 };

bool seccomp_wanted(const struct session *session)
{
	const struct options *options = session->options;

	/* Children inherit filters, and would watch other ranges. */
	return session->run && options->exit_kill && !options->survive &&
	       !options->follow && !session->broad && !session->watch.low &&
	       session->policy != POLICY_SAMPLE;
}

/* Where it is neither, the kernel takes a filter only with no_new_privs. */
static bool is_permitted(const struct process *process)
{
	return process_status(process->proc, "NoNewPrivs", 10, 0) ||
	       process_status(process->proc, "CapEff", 16, 0) >> CAP_ADMIN & 1;
}

const char *seccomp_way(const struct session *session)
{
	return seccomp_wanted(session) && !session->process->seccomp &&
			       is_permitted(session->process)
		       ? "seccomp"
		       : "ptrace";
}

/* Nobody else runs: a vfork child's parent waits for it. */
static bool is_alone(const struct process *process)
{
	if (process->threads.count > 2)
		return false;
	if (process->threads.count < 2)
		return true;
	table_for_each(&process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread->vforking)
			return true;
	}
	return false;
}

static bool covers(const struct ranges *covered, const struct range *range)
{
	const struct range *r = ranges_find(covered, range->start);

	while (r && r->end < range->end)
		r = ranges_find(covered, r->end);
	return r;
}

/*
 * A thread that sleeps in a call of which we do not know is interrupted when
 * all must stand still, and might return what it has so far.  So with others
 * around all calls that may sleep are seen.
 */
bool seccomp_serves(const struct session *session)
{
	const struct process *process = session->process;
	const struct ranges *pages = &session->guard.pages;

	/* Of calls with buffers where a stack will grow it does not know. */
	if (!process->filters || process->seccomp || session->watch.low ||
	    pages->count > FILTER_INPUT ||
	    (!session->sieve.blocking && !is_alone(process)))
		return false;
	for (size_t i = 0; i < pages->count; i++)
		if (!covers(&session->sieve.covered, &pages->range[i]))
			return false;
	return true;
}

/*
 * System calls are seen while pages are closed, unless filters tell those that
 * matter, and where one that we interrupted, moved or were told of must be
 * seen to its end.  And all that may give memory to an io_uring:
 * what it was given between slices it uses in them.
 */
enum trace_resume seccomp_resume(const struct session *session,
				 const struct thread *thread)
{
	bool armed = session->phase == PHASE_ARMED;
	bool told = session->process->filters && thread->in_call;

	return (armed && (told || !seccomp_serves(session))) || thread->call ||
			       thread->restarted || thread->partial ||
			       thread->asks ||
			       (session->async.used &&
				session->phase == PHASE_RESTING)
		       ? TRACE_SYSCALL
		       : TRACE_CONT;
}

/* It shares memory, but is no thread: a filter would not reach it. */
static bool has_others(const struct process *process)
{
	table_for_each(&process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread->tgid != process->pid)
			return true;
	}
	return false;
}

static int put_in(struct thread *thread, struct filter *filter, uint64_t room,
		  int64_t *result)
{
	const struct sock_fprog program = {
		.len = (uint16_t)filter->count,
		/* an address in the process */
		.filter = (void *)(uintptr_t)(room + sizeof(program)),
	};
	const uint64_t args[6] = {
		SECCOMP_SET_MODE_FILTER,
		/* The latter: as fast as it was, where the kernel would else
		 * slow down what is filtered (spec_store_bypass_disable). */
		SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		room,
	};
	int mem = thread->process->mem;
	struct injection injection;
	int r = mem_write(mem, room, &program, sizeof(program));

	if (r == 0)
		r = mem_write(mem, room + sizeof(program), filter->code,
			      filter->count * sizeof(filter->code[0]));
	if (r < 0)
		return r;
	r = inject_begin(&injection, thread);
	if (r == 0)
		r = inject_call(&injection, SYS_seccomp, args, result);
	return first_error(r, inject_end(&injection));
}

static int note_covered(struct session *session)
{
	const struct ranges *pages = &session->guard.pages;
	int r = 0;

	for (size_t i = 0; r == 0 && i < pages->count; i++)
		r = ranges_add(&session->sieve.covered, pages->range[i].start,
			       pages->range[i].end, 0);
	return r;
}

static int install(struct session *session, struct thread *thread)
{
	const struct filter_rules rules = {
		.blocking = !is_alone(session->process),
		.always = timeout_counts,
	};
	_cleanup_(freep) struct filter *filter = malloc(sizeof(*filter));
	struct room room = { 0 };
	int64_t result = 0;
	int r = filter ? filter_build(&session->guard.pages, &rules, filter)
		       : -ENOMEM;

	if (r == -E2BIG) {
		session->sieve.denied = true;
		return 0;
	}
	if (r == 0)
		r = room_take(&session->rooms, thread,
			      sizeof(struct sock_fprog) + sizeof(filter->code),
			      &room);
	if (r < 0)
		return r;
	r = put_in(thread, filter, room.addr, &result);
	r = first_error(r, room_give(&session->rooms, thread, &room));
	/* Also the number of a thread that has filters of its own. */
	session->sieve.denied = r == 0 && result != 0;
	if (r < 0 || result)
		return r;
	session->process->filters++;
	session->sieve.blocking |= rules.blocking;
	session->sieve.spared = 0;
	return note_covered(session);
}

int seccomp_note(struct session *session, struct thread *thread, int number)
{
	const struct process *process = session->process;
	struct sieve *sieve = &session->sieve;
	struct filter_rules rules = { .always = timeout_counts };
	struct filter_demand demand;

	if (session->phase != PHASE_ARMED || !seccomp_wanted(session) ||
	    sieve->denied || (sieve->forks && !process->filters) ||
	    process->seccomp || process->filters == FILTERS || thread->call ||
	    !session->guard.closed.count || seccomp_serves(session))
		return 0;
	rules.blocking = !is_alone(process);
	filter_demand(number, &rules, &demand);
	if (demand.always ||
	    ++sieve->spared >> process->filters < SPARED_FIRST ||
	    has_others(process))
		return 0;
	sieve->denied = !is_permitted(process);
	return sieve->denied ? 0 : install(session, thread);
}

/* Answer the call that the thread stands before: 1. */
static int answer(pid_t tid, int64_t result)
{
	struct user_regs_struct regs;
	int r = trace_get_regs(tid, &regs);

	if (r < 0)
		return r;
	regs.orig_rax = (uint64_t)-1;
	regs.rax = (uint64_t)result;
	r = trace_set_regs(tid, &regs);
	return r < 0 ? r : 1;
}

int seccomp_pass(pid_t tid, unsigned filters)
{
	struct ptrace_syscall_info info = { 0 };
	unsigned long data = 0;
	int r = trace_event_message(tid, &data);

	if (r == 0 && data != FILTER_DATA)
		return answer(tid, -ENOSYS);
	if (r == 0)
		r = trace_syscall_info(tid, &info);
	if (r < 0 || info.entry.nr != SYS_prctl ||
	    info.entry.args[0] != PR_GET_SECCOMP ||
	    process_status(tid, "Seccomp_filters", 10, UINT64_MAX) > filters)
		return r;
	return answer(tid, SECCOMP_MODE_DISABLED);
}

/*
 * Where calls are stopped by ptrace(2) as well, that stop came first: a call
 * that was changed there goes on.  Any other is looked at (again): pages may
 * have been closed since.
 */
struct verdict seccomp_stop(struct session *session, struct thread *thread)
{
	int r = seccomp_pass(thread->tid, session->process->filters);

	thread->in_call = true;
	/* < 0: it is dying. */
	if (r != 0 || thread->call || session->phase != PHASE_ARMED)
		return run;
	thread->stop.kind = STOP_SYSCALL;
	return session_call(session, thread);
}
