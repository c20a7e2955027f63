/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/async.h"
#include "tracer/async_given.h"
#include "tracer/confined.h"
#include "tracer/growth.h"
#include "tracer/lift.h"
#include "tracer/process/mem.h"
#include "tracer/refuse.h"
#include "tracer/sigframe.h"
#include "tracer/survive.h"
#include "tracer/userfault.h"

enum {
	LOCKS_MAX = 2048, /* ROBUST_LIST_LIMIT of the kernel */
	REACH = 64 << 10, /* what an open-ended buffer may be in all */
};

/* The kernel must find these words in place, now and later. */
static int refuse_buffers(struct session *session, struct thread *thread,
			  const struct call_plan *plan, enum refusal why)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < plan->count; i++) {
		const struct buffer_use *b = &plan->buffer[i];

		if (call_guarded(session, b->addr, b->size))
			r = session_refuse(session, thread, b->addr,
					   b->addr + b->size, why);
	}
	return r;
}

static int enter_in_place(struct session *session, struct thread *thread,
			  const struct call *call, const struct call_plan *plan)
{
	int r;

	switch (call->number) {
	case SYS_clone:
	case SYS_clone3:
		r = call_child_stack(session, thread, call);
		return r < 0 ? r
			     : refuse_buffers(session, thread, plan,
					      REFUSED_TCB);
	case SYS_set_tid_address:
		thread->clear_tid = call->args[0];
		return refuse_buffers(session, thread, plan, REFUSED_TCB);
	case SYS_rseq:
	case SYS_set_robust_list:
		return refuse_buffers(session, thread, plan, REFUSED_TCB);
	default:
		return 1;
	}
}

/*
 * A private futex that is woken is found by its address alone: the kernel does
 * not look at the page.
 */
static bool is_looked_up_only(const struct call *call,
			      const struct buffer_use *buffer)
{
	return buffer->direction == 0 && call->number == SYS_futex &&
	       call->args[1] & FUTEX_PRIVATE_FLAG;
}

static bool touches(struct session *session, const struct call *call,
		    const struct call_plan *plan)
{
	uint64_t least = plan->open_ended ? REACH : 0;

	for (unsigned i = 0; i < plan->count; i++)
		if (!is_looked_up_only(call, &plan->buffer[i]) &&
		    call_guarded(session, plan->buffer[i].addr,
				 max_u64(plan->buffer[i].size, least)))
			return true;
	return plan->kind == CALL_UNKNOWN || plan->overflow;
}

/* Does a process of another pid namespace speak of pids? */
static bool counts_apart(struct process *process)
{
	char path[48];
	struct stat theirs, ours;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", process_proc(process));
	return stat(path, &theirs) < 0 ||
	       stat("/proc/self/ns/pid", &ours) < 0 ||
	       theirs.st_ino != ours.st_ino;
}

/* process_vm_readv(2) and its kin, of the process's own memory. */
static bool reaches_itself(struct process *process, const struct call *call)
{
	if (call->number != SYS_process_vm_readv &&
	    call->number != SYS_process_vm_writev)
		return false;
	return process_thread(process, (pid_t)call->args[0]) ||
	       counts_apart(process);
}

/* The frame that rt_sigreturn(2) reads lies where the stack pointer is. */
static bool frame_is_open(struct session *session, struct thread *thread)
{
	struct ptrace_syscall_info info = { 0 };

	return trace_syscall_info(thread->tid, &info) == 0 &&
	       !call_guarded(session, info.stack_pointer - 8, SIGFRAME);
}

/*
 * Killed between two calls we would leave the word out of reach of the next,
 * and no library bears it that a futex fails.
 */
static int leave_futex(struct session *session, struct thread *thread,
		       const struct call *call, const struct call_plan *plan)
{
	if (!session->options->survive || !(plan->flags & CALL_FUTEX) ||
	    !touches(session, call, plan))
		return 0;
	return refuse_buffers(session, thread, plan, REFUSED_FUTEX);
}

/* 0: resume it; 1: stands at its exit; 2: runs already. */
static int enter_guarded(struct session *session, struct thread *thread,
			 const struct call *call, bool resumed)
{
	struct memory memory = process_memory(session->process);
	struct call_plan plan;
	uint64_t room;
	int r;

	call_describe(call, &memory, &plan);
	if (reaches_itself(session->process, call))
		plan.kind = CALL_UNKNOWN;
	thread->call_stays = plan.kind == CALL_NONE ||
			     (plan.kind == CALL_BUFFERED && !plan.count);
	if (plan.kind == CALL_NONE || (call->number == SYS_rt_sigreturn &&
				       frame_is_open(session, thread)))
		return 0;
	if (call->number == SYS_rt_sigreturn) {
		r = sigframe_return(session, thread, call);
		if (r != -ENOSPC)
			return r;
	}
	if (call->number == SYS_io_uring_enter) {
		r = async_submit(session, thread, call);
		if (r <= 0)
			return r;
	}
	if (plan.flags & CALL_LATER && plan.kind == CALL_IN_PLACE) {
		r = refuse_buffers(session, thread, &plan, REFUSED_ASYNC);
		if (r < 0)
			return r;
	}
	if (plan.kind == CALL_IN_PLACE) {
		r = enter_in_place(session, thread, call, &plan);
		if (r <= 0)
			return r;
	}
	for (unsigned i = 0; i < plan.count; i++) {
		r = growth_reach(session, thread, plan.buffer[i].addr);
		if (r < 0)
			return r;
	}
	r = leave_futex(session, thread, call, &plan);
	if (r < 0 || !touches(session, call, &plan))
		return r;
	if (plan.open_ended)
		plan.kind = CALL_UNKNOWN;
	if (plan.kind == CALL_BUFFERED && !plan.overflow) {
		room = bounce_room(&plan, call_guarded, session);
		r = resumed ? timeout_enter(session, thread, call) : 0;
		if (r < 0)
			return r;
		r = moved_enter(session, thread, call, &plan, room);
		if (r <= 0)
			return r;
	}
	r = inplace_enter(session, thread, call, &plan);
	return r == INPLACE_RUNS ? 2 : r == INPLACE_RESUME ? 0 : r;
}

/* One lock of a robust list: its link, and the word at @offset from it. */
static int refuse_lock(struct session *session, struct thread *thread,
		       uint64_t link, uint64_t offset)
{
	uint64_t part[2] = { link, link + offset };
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++)
		if (call_guarded(session, part[i], sizeof(link)))
			r = session_refuse(session, thread, part[i],
					   part[i] + sizeof(link),
					   REFUSED_ROBUST);
	return r;
}

/*
 * The kernel marks the robust mutexes that a dying thread still holds, and
 * wakes who waits for them.  It would give up at a closed page.
 */
static int refuse_held_locks(struct session *session, struct thread *thread,
			     const struct thread *holder)
{
	struct {
		uint64_t next, offset, pending; /* struct robust_list_head */
	} list;
	int mem = session->process->mem, r = 0;
	uint64_t head = 0, link;
	size_t length = 0;

	if (syscall(SYS_get_robust_list, holder->tid, &head, &length) < 0 ||
	    !head || mem_read(mem, head, &list, sizeof(list)) < 0)
		return 0;
	list.pending &= ~UINT64_C(1); /* marks a mutex with inheritance */
	if (list.pending)
		r = refuse_lock(session, thread, list.pending, list.offset);
	link = list.next & ~UINT64_C(1);
	for (int i = 0; r == 0 && link != head && i < LOCKS_MAX; i++) {
		r = refuse_lock(session, thread, link, list.offset);
		if (r == 0 && mem_read(mem, link, &link, sizeof(link)) < 0)
			break;
		link &= ~UINT64_C(1);
	}
	return r;
}

/* What the program is about to set, before the kernel overwrites it. */
static void note_signals(struct session *session, struct thread *thread,
			 const struct call *call)
{
	if (call->number == SYS_rt_sigaction && call->args[1])
		(void)!mem_read(session->process->mem, call->args[1],
				&thread->pending, sizeof(thread->pending));
}

/* Memory may be shared: also when all threads die, somebody may wait. */
static int refuse_dying(struct session *session, struct thread *thread,
			const struct call *call)
{
	int r = 0;

	if (call->number == SYS_exit)
		return refuse_held_locks(session, thread, thread);
	if (call->number != SYS_exit_group)
		return 0;
	table_for_each(&session->process->threads, s)
	{
		if (r == 0)
			r = refuse_held_locks(session, thread, s->value);
	}
	return r;
}

int call_enter(struct session *session, struct thread *thread,
	       const struct call *call, bool resumed)
{
	unsigned flags = call_flags(call->number);
	int r = resumed ? 0 : timeout_enter(session, thread, call);

	if (r == 0 && session->phase == PHASE_RESTING)
		return async_rest(session, thread, call);
	if (r < 0 || session->phase != PHASE_ARMED)
		return r;
	r = confined_enter(session, thread, call);
	if (r < 0 || session_is_over(session))
		return r;
	if (flags & CALL_SIGNALS)
		note_signals(session, thread, call);
	r = lift_enter(session, thread, call);
	if (r == 0)
		r = survive_enter(session, thread, call->number, call->args[0]);
	if (r < 0)
		return r;
	r = userfault_enter(session, thread, call);
	if (r == 0)
		r = async_enter(session, thread, call);
	if (r < 0)
		return r;
	if (flags & CALL_MAPS) {
		r = mapcall_enter(session, thread, call);
		if (r != 0 || thread->state != THREAD_STOPPED)
			return r == 0 ? 2 : r;
	}
	if (!session->guard.closed.count && !session->pinned.count)
		return 0;
	if (call->number == SYS_exit_group)
		shadow_check(session, 0, UINT64_MAX);
	r = refuse_dying(session, thread, call);
	if (r < 0)
		return r;
	return enter_guarded(session, thread, call, resumed);
}
