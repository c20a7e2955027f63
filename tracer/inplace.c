/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracer/compared.h"
#include "tracer/growth.h"
#include "tracer/process/mem.h"

/*
 * A call that cannot be moved runs with its pages open.  The other threads
 * are held until it returned; if it blocks they must go on, or they could
 * never wake it.
 */

enum { SPINS = 30, NAPS = 20, NAP = 50000 /* ns */ };

struct use {
	uint64_t addr, size;
	uint8_t direction;
	uint8_t old[EFFECT_SHOWN];
};

static bool is_exec(int number)
{
	return number == SYS_execve || number == SYS_execveat;
}

static int open_part(struct session *session, struct injection *injection,
		     struct inflight *inflight, uint64_t start, uint64_t end)
{
	const struct range *next;
	int r = 0;

	while (r == 0 &&
	       (next = ranges_overlap(&session->guard.closed, start, end))) {
		uint64_t low = max_u64(start, next->start);
		uint64_t high = min_u64(end, next->end);

		r = ranges_add(&inflight->opened, low, high, 0);
		if (r == 0)
			r = guard_open(&session->guard, injection, low, high);
	}
	return r;
}

static int open_pages(struct session *session, struct thread *thread,
		      struct inflight *inflight)
{
	const struct call_plan *plan = &inflight->plan;
	struct injection injection;
	int r = inject_begin(&injection, thread);

	if (r == 0 && (plan->kind == CALL_UNKNOWN || plan->overflow))
		r = open_part(session, &injection, inflight, 0, UINT64_MAX);
	for (unsigned i = 0; r == 0 && i < plan->count; i++)
		r = open_part(
			session, &injection, inflight,
			page_down(plan->buffer[i].addr),
			page_up(plan->buffer[i].addr + plan->buffer[i].size));
	return first_error(r, inject_end(&injection));
}

static void look_before(struct process *process, struct inflight *inflight)
{
	const struct call_plan *plan = &inflight->plan;
	struct use *use = calloc(plan->count + 1, sizeof(*use));

	inflight->before = (uint8_t *)use;
	for (unsigned i = 0; use && i < plan->count; i++) {
		const struct buffer_use *buffer = &plan->buffer[i];

		use[i].addr = buffer->addr;
		use[i].size = buffer->size;
		use[i].direction = buffer->direction;
		(void)!mem_read(process->mem, buffer->addr, use[i].old,
				min_u64(buffer->size, EFFECT_SHOWN));
	}
}

static void report_use(struct session *session, struct thread *thread,
		       struct inflight *inflight, unsigned i, int64_t result)
{
	const struct use *use = &((const struct use *)inflight->before)[i];
	const struct buffer_use *buffer = &inflight->plan.buffer[i];
	struct bounce_use report = {
		.addr = use->addr,
		.size = use->size,
		.direction = use->direction,
	};

	if (use->direction & BUFFER_OUT)
		report.size = call_written(&inflight->plan, i, result);
	report.shown = (uint32_t)min_u64(report.size, EFFECT_SHOWN);
	memcpy(report.old, use->old, report.shown);
	if (!report.direction || !report.size ||
	    mem_read(session->process->mem, use->addr, report.new,
		     report.shown) < 0)
		return;
	if (use->direction == BUFFER_OUT &&
	    buffer->written == WRITTEN_COMPARE &&
	    memcmp(report.old, report.new, report.shown) == 0)
		return;
	call_report(session, thread, inflight->call.number, &report);
}

/*
 * Until its next stop, or it sleeps; a filter may speak up in between.
 * @until_asleep: or else it may not have begun yet, on a busy machine.
 */
static int await(struct thread *thread, bool until_asleep, struct stop *stop)
{
	int r = -EAGAIN;

	for (int i = 0; until_asleep || i < SPINS + NAPS; i++) {
		r = stop_wait(thread->tid, false, stop);
		if (r == 0 && stop->kind == STOP_SECCOMP) {
			r = seccomp_pass(thread->tid, thread->process->filters);
			if (r >= 0)
				r = trace_resume(thread->tid, TRACE_SYSCALL, 0);
			if (r < 0)
				return r;
			r = -EAGAIN;
		}
		if (r != -EAGAIN && r != -EINTR)
			break;
		if (i < SPINS)
			sched_yield();
		else if (i > SPINS && thread_is_in_state(thread->tid, "S"))
			return -EAGAIN;
		else
			nanosleep(&(struct timespec){ .tv_nsec = NAP }, NULL);
	}
	return r;
}

/* 1: it stands at the exit; 0: it blocks, or stopped for another reason. */
static int run_or_sleep(struct thread *thread, bool until_asleep)
{
	struct stop stop;
	int r = trace_resume(thread->tid, TRACE_SYSCALL, 0);

	if (r < 0)
		return r;
	thread_set_state(thread, THREAD_RUNNING);
	r = await(thread, until_asleep, &stop);
	if (r == -EAGAIN || r == -EINTR)
		return 0;
	if (r == -ECHILD)
		return -ESRCH;
	if (r < 0)
		return r;

	thread->stop = stop;
	if (stop_is_end(&stop)) {
		thread_set_state(thread, THREAD_GONE);
		return -ESRCH;
	}
	if (stop.kind == STOP_SYSCALL) {
		thread_set_state(thread, THREAD_STOPPED);
		return 1;
	}
	thread_set_state(thread, THREAD_PARKED);
	return 0;
}

int inplace_run(struct thread *thread)
{
	return run_or_sleep(thread, false);
}

static int pin(struct session *session, struct inflight *inflight)
{
	const char *name = syscall_name(inflight->call.number);
	int r = 0;

	inflight->pinned = true;
	session->pins++;
	for (size_t i = 0; r == 0 && i < inflight->opened.count; i++)
		r = ranges_add(&session->pinned,
			       inflight->opened.range[i].start,
			       inflight->opened.range[i].end, 0);
	if (session->process->threads.count > 1)
		report_unseen(session,
			      "pages were open to all threads while %s blocked",
			      name ? name : "an unknown system call");
	return r;
}

void session_reclose(struct session *session, struct thread *thread)
{
	int r;

	if (!inject_possible(thread) || session_is_over(session))
		return;
	r = session_close(session, thread, &session->reclose);
	if (r < 0 && r != -ESRCH)
		session_fail(session, r, __func__);
}

/*
 * A futex word is looked at only on the way in: it may be closed again, by a
 * thread that is held, or by the first that comes back if all are in calls.
 */
static int blocks(struct session *session, struct inflight *inflight)
{
	struct thread *other = inject_thread(session->process);
	int r = 0;

	if (!(inflight->plan.flags & CALL_FUTEX))
		return pin(session, inflight);
	if (session->policy != POLICY_EVERY) {
		ranges_clear(&inflight->opened);
		return 0;
	}
	if (other)
		return session_close(session, other, &inflight->opened);
	for (size_t i = 0; r == 0 && i < inflight->opened.count; i++)
		r = ranges_add(&session->reclose,
			       inflight->opened.range[i].start,
			       inflight->opened.range[i].end, 0);
	ranges_clear(&inflight->opened);
	return r;
}

/*
 * A wait whose word has another value returns at once.  The page is closed, so
 * nobody changes it: we can tell, without opening it.
 */
static bool futex_answers(struct session *session, struct thread *thread,
			  const struct call *call)
{
	int operation = (int)call->args[1] & FUTEX_CMD_MASK;
	struct user_regs_struct regs;
	uint32_t word;

	if (call->number != SYS_futex ||
	    !(call->args[1] & FUTEX_PRIVATE_FLAG) ||
	    (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) ||
	    (operation == FUTEX_WAIT_BITSET && !(uint32_t)call->args[5]) ||
	    call->args[3] || call->args[0] % sizeof(word) ||
	    !guard_closed(&session->guard, call->args[0], call->args[0] + 4) ||
	    mem_read(session->process->mem, call->args[0], &word,
		     sizeof(word)) < 0 ||
	    word == (uint32_t)call->args[2] ||
	    trace_get_regs(thread->tid, &regs) < 0)
		return false;
	regs.orig_rax = (uint64_t)-1; /* no call is made */
	regs.rax = (uint64_t)-EAGAIN;
	return trace_set_regs(thread->tid, &regs) == 0;
}

/* Of what the table does not know, what changes is found by comparing. */
static void compare(struct session *session, struct inflight *inflight)
{
	int number = inflight->call.number;
	const char *name = syscall_name(number);

	if (inflight->plan.kind != CALL_UNKNOWN && !inflight->plan.overflow)
		return;
	/* After an exec there is other memory. */
	if (!is_exec(number))
		inflight->compared = compared_begin(session, &inflight->opened);
	report_unseen(session, "what %s %s in memory is not known",
		      name ? name : "an unknown system call",
		      inflight->compared ? "reads" : "touches");
}

int inplace_enter(struct session *session, struct thread *thread,
		  const struct call *call, const struct call_plan *plan)
{
	struct inflight *inflight = call_inflight(thread, call);
	int r;

	if (!inflight)
		return -ENOMEM;
	inflight->plan = *plan;
	if (futex_answers(session, thread, call)) {
		look_before(session->process, inflight);
		return INPLACE_RESUME;
	}
	r = process_hold(session->process, thread, HOLD_USER);
	session->parked = true;
	look_before(session->process, inflight);
	if (r == 0)
		r = open_pages(session, thread, inflight);
	if (r < 0)
		return r;

	compare(session, inflight);
	if (!is_exec(call->number)) {
		/* The kernel has seen the word of a futex when it sleeps. */
		r = run_or_sleep(thread, plan->flags & CALL_FUTEX);
		return r == 0 ? blocks(session, inflight) : r;
	}
	/* An exec waits for the other threads to end: they must not be held. */
	r = pin(session, inflight);
	if (r == 0)
		r = trace_resume(thread->tid, TRACE_SYSCALL, 0);
	if (r == 0)
		thread_set_state(thread, THREAD_RUNNING);
	return r;
}

/* The last call that had pages open closes them all again. */
static int unpin(struct session *session, struct thread *thread)
{
	int r;

	if (--session->pins > 0)
		return 0;
	if (session->phase != PHASE_ARMED) {
		ranges_clear(&session->pinned);
		return 0;
	}
	r = growth_opened(session, &session->pinned,
			  session->policy == POLICY_EVERY);
	if (r < 0)
		return r;
	if (session->policy != POLICY_EVERY)
		return session->pinned.count ? session_close(session, thread,
							     &session->pinned)
					     : 0;
	/* The pages left the guard when it was armed anew meanwhile. */
	r = session_close(session, thread, &session->pinned);
	return first_error(r, session_rearm(session, thread));
}

int inplace_exit(struct session *session, struct thread *thread, int64_t result)
{
	struct inflight *inflight = thread->call;
	int r = 0;

	for (unsigned i = 0; inflight->before && i < inflight->plan.count; i++)
		report_use(session, thread, inflight, i, result);
	if (inflight->compared)
		compared_report(session, thread, inflight->compared, result);

	if (inflight->pinned) {
		r = unpin(session, thread);
	} else {
		r = growth_opened(session, &inflight->opened,
				  session->policy == POLICY_EVERY);
		if (r == 0 && inflight->opened.count)
			r = session_close(session, thread, &inflight->opened);
	}
	inflight->pinned = false;
	ranges_clear(&inflight->opened);
	return r;
}
