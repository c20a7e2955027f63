/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracer/ahead.h"
#include "tracer/async_given.h"
#include "tracer/compared.h"
#include "tracer/lift.h"
#include "tracer/partial.h"
#include "tracer/process/mem.h"
#include "tracer/remote.h"
#include "tracer/rewrites.h"
#include "tracer/survive.h"

static const struct verdict run = { VERDICT_RUN, 0 };
static const struct verdict again = { VERDICT_AGAIN, 0 };

bool call_guarded(void *context, uint64_t addr, uint64_t size)
{
	const struct session *session = context;

	return guard_closed(&session->guard, addr, addr + size) ||
	       ranges_overlap(&session->pinned, addr, addr + size);
}

struct inflight *call_inflight(struct thread *thread, const struct call *call)
{
	if (!thread->call) {
		thread->call = calloc(1, sizeof(*thread->call));
		if (!thread->call)
			return NULL;
		thread->call->call = *call;
		for (int i = 0; i < 6; i++)
			thread->call->args[i] = call->args[i];
	}
	return thread->call;
}

static void copy_args(struct user_regs_struct *regs, const uint64_t args[6])
{
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

int call_set(struct thread *thread, int number, const uint64_t args[6])
{
	struct user_regs_struct regs;
	int r = trace_get_regs(thread->tid, &regs);

	if (r < 0)
		return r;
	copy_args(&regs, args);
	regs.orig_rax = (uint64_t)number;
	return trace_set_regs(thread->tid, &regs);
}

void call_report_as(struct session *session, struct thread *thread,
		    const char *syscall, const char *how,
		    const struct bounce_use *use)
{
	struct effect effect = {
		.access = { .addr = use->addr, .size = use->size, .count = 1 },
		.shown = use->shown,
	};
	struct effect_report report = {
		.effect = &effect,
		.how = how,
		.syscall = syscall,
	};
	struct ptrace_syscall_info info = { 0 };

	if (use->direction & BUFFER_IN)
		effect.access.op |= ACCESS_READ;
	if (use->direction & BUFFER_OUT)
		effect.access.op |= ACCESS_WRITE;
	for (unsigned i = 0; i < use->shown; i++) {
		effect.old[i] = use->old[i];
		effect.new[i] = use->new[i];
	}
	if (trace_syscall_info(thread->tid, &info) == 0)
		report.ip = info.instruction_pointer;
	session->log->insns++;
	resolver_epoch(session->resolver);
	report_access(session, thread, &report);
}

void call_report(struct session *session, struct thread *thread, int number,
		 const struct bounce_use *use)
{
	call_report_as(session, thread, syscall_name(number), NULL, use);
}

static void inflight_free(struct inflight *inflight)
{
	bounce_done(&inflight->bounce);
	ranges_done(&inflight->opened);
	compared_free(inflight->compared);
	free(inflight->before);
	free(inflight);
}

void session_call_forget(struct session *session, struct thread *thread)
{
	struct inflight *inflight = thread->call;

	interrupted_forget(thread);
	if (!inflight)
		return;
	thread->call = NULL;
	if (inflight->pinned && --session->pins == 0) {
		for (size_t i = 0; i < session->pinned.count; i++)
			(void)!ranges_add(&session->reclose,
					  session->pinned.range[i].start,
					  session->pinned.range[i].end, 0);
		ranges_clear(&session->pinned);
	}
	if (!inflight->room.mapped)
		(void)!room_give(&session->rooms, thread, &inflight->room);
	(void)!room_give(&session->rooms, thread, &inflight->timeout_room);
	inflight_free(inflight);
}

/* Registers as the program had them, and what we took given back. */
static int finish(struct session *session, struct thread *thread)
{
	struct inflight *inflight = thread->call;
	int r = 0;

	if (inflight->changed)
		r = call_set(thread, inflight->call.number,
			     inflight->call.args);
	inflight->changed = 0;
	r = first_error(
		r, room_give(&session->rooms, thread, &inflight->timeout_room));
	if (inflight->restarts)
		return r;
	thread->call = NULL;
	r = first_error(r, room_give(&session->rooms, thread, &inflight->room));
	inflight_free(inflight);
	return r;
}

static int after_signals(struct session *session, struct thread *thread,
			 const struct call *call)
{
	struct dispositions *all = &session->process->dispositions;
	uint64_t signal = call->args[0];
	stack_t stack;

	switch (call->number) {
	case SYS_rt_sigaction:
		if (call->args[1] && signal >= 1 && signal <= SIGNALS &&
		    !thread->apart)
			all->signal[signal] = thread->pending;
		return 0;
	case SYS_sigaltstack:
		if (!call->args[0] ||
		    mem_read(session->process->mem, call->args[0], &stack,
			     sizeof(stack)) < 0 ||
		    stack.ss_flags & SS_DISABLE)
			return 0;
		return session_refuse(session, thread, (uintptr_t)stack.ss_sp,
				      (uintptr_t)stack.ss_sp + stack.ss_size,
				      REFUSED_ALTSTACK);
	default:
		lift_learn(thread);
		return 0;
	}
}

static bool is_restart(int64_t result)
{
	return result >= -516 && result <= -512;
}

static int leave(struct session *session, struct thread *thread, int64_t result)
{
	struct call call = { .number = thread->last_call };
	unsigned flags = call_flags(call.number);
	int r = 0;

	for (int i = 0; i < 6; i++)
		call.args[i] = thread->last_args[i];
	r = remote_exit(session, thread, &result);
	if (r < 0)
		return r;
	if (!is_restart(result) && result != -EINTR) {
		thread->restarted = thread->remade = false;
		thread->call_deadline = 0;
	}
	if (thread->call && thread->call->moved)
		r = moved_exit(session, thread, result);
	else if (thread->call && thread->call->before)
		r = inplace_exit(session, thread, result);
	if (r == 0 && flags & CALL_MAPS)
		r = mapcall_exit(session, thread, &call, result);
	if (thread->call)
		r = first_error(r, finish(session, thread));
	if (r == 0)
		r = async_leave(session, thread, &call, result);
	if (r < 0)
		return r;

	if (call.number == SYS_prctl)
		thread->comm[0] = '\0';
	session_ahead_after(session, call.number);
	rewrites_after(session, call.number, result);
	if (call.number == SYS_rseq)
		thread->rseq_known = false;
	if (call.number == SYS_prctl || call.number == SYS_seccomp)
		process_note_seccomp(session->process);
	if (r == 0)
		partial_exit(session, thread, result);
	/* An interrupt of ours that met this stop is not told by another. */
	if (r == 0 && result == -EINTR)
		session_restart(session, thread, false);
	thread->prodded = false;
	/* rt_sigreturn's "result" is the register that it restored. */
	if (r == 0 && flags & CALL_SIGNALS &&
	    (result >= 0 || call.number == SYS_rt_sigreturn))
		r = after_signals(session, thread, &call);
	return r < 0 ? r : survive_leave(session, thread);
}

int call_under_restart(struct thread *thread, uint64_t ip)
{
	static const int number[] = { SYS_futex, SYS_poll, SYS_clock_nanosleep,
				      SYS_nanosleep };
	uint8_t bytes[7]; /* mov $number, %eax; syscall */
	uint32_t value;

	if (mem_read(thread->process->mem, ip - sizeof(bytes), bytes,
		     sizeof(bytes)) < 0 ||
	    bytes[0] != 0xb8)
		return -1;
	memcpy(&value, bytes + 1, sizeof(value));
	for (size_t i = 0; i < ARRAY_SIZE(number); i++)
		if (value == (uint32_t)number[i])
			return number[i];
	return -1;
}

/* restart_syscall(2) goes on with the call that was interrupted. */
static bool resumes(struct thread *thread, const struct call *call, uint64_t ip)
{
	if (call->number != SYS_restart_syscall)
		return false;
	if (thread->last_call < 0)
		thread->last_call = call_under_restart(thread, ip);
	return thread->last_call >= 0;
}

static int at_entry(struct session *session, struct thread *thread,
		    const struct ptrace_syscall_info *info)
{
	/* Of a call by int 0x80 the number is one of another table. */
	struct call call = { .number = info->arch == AUDIT_ARCH_X86_64
					       ? (int)info->entry.nr
					       : -1 };
	bool resumed;
	int r;

	for (int i = 0; i < 6; i++)
		call.args[i] = info->entry.args[i];
	interrupted_forget(thread);
	if (!thread->restarted)
		thread->call_began = session_now();
	resumed = resumes(thread, &call, info->instruction_pointer);
	if (resumed) {
		if (thread->call)
			return 0; /* its buffers still are in the room */
		call.number = thread->last_call;
	} else if (thread->call) {
		/* A handler ran, and the call was given up. */
		thread->call->restarts = false;
		r = finish(session, thread);
		if (r < 0)
			return r;
	}
	thread->last_call = call.number;
	for (int i = 0; i < 6; i++)
		thread->last_args[i] = call.args[i];
	r = call_enter(session, thread, &call, resumed);
	return r == 0 ? seccomp_note(session, thread, call.number) : r;
}

static struct verdict answer(struct session *session, struct thread *thread,
			     int r)
{
	if (r == 2 || thread->state != THREAD_STOPPED)
		return again;
	if (r < 0 && r != -ESRCH)
		session_fail(session, r, __func__);
	return run;
}

/*
 * What a call returned.  An injection may have moved the thread on from its
 * exit stop; its registers are those that it had there.
 */
static int result_of(struct thread *thread,
		     const struct ptrace_syscall_info *info, int64_t *result)
{
	struct user_regs_struct regs;
	int r;

	*result = info->exit.rval;
	if (info->op == PTRACE_SYSCALL_INFO_EXIT)
		return 0;
	r = trace_get_regs(thread->tid, &regs);
	*result = (int64_t)regs.rax;
	return r;
}

struct verdict session_call(struct session *session, struct thread *thread)
{
	struct ptrace_syscall_info info = { 0 };
	int64_t result = 0;
	int r = trace_syscall_info(thread->tid, &info);

	if (r == 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		thread->in_call = true;
		thread->call_stays = false;
		thread->call_hidden = false;
		r = at_entry(session, thread, &info);
		if (r != 1)
			return answer(session, thread, r);
		thread->in_call = false;
		r = trace_syscall_info(thread->tid, &info);
	}
	if (r == 0)
		r = result_of(thread, &info, &result);
	if (r < 0)
		return run; /* dying */
	return answer(session, thread, leave(session, thread, result));
}

int call_cancel(struct thread *thread)
{
	struct ptrace_syscall_info info = { 0 };
	struct user_regs_struct regs;
	int r = trace_syscall_info(thread->tid, &info);

	if (r < 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return r;
	r = trace_get_regs(thread->tid, &regs);
	if (r < 0 || (int64_t)regs.orig_rax < 0)
		return r;
	regs.rax = regs.orig_rax;
	regs.orig_rax = (uint64_t)-1;
	regs.rip -= 2;
	return trace_set_regs(thread->tid, &regs);
}
