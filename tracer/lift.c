/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tracer/fault.h"
#include "tracer/lift.h"
#include "tracer/process/frames.h"
#include "tracer/process/mem.h"
#include "tracer/process/status.h"

/* glibc 2.36 has no names for these. */
enum { CLONE3 = 435, EPOLL_PWAIT2 = 441 };

/* It shows the mask, sets it, for its while or for good, or hands it on. */
static bool minds_mask(int number)
{
	switch (number) {
	case SYS_rt_sigprocmask:
	case SYS_rt_sigreturn:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigpending:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case EPOLL_PWAIT2:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
	case SYS_execve:
	case SYS_execveat:
	case SYS_fork:
	case SYS_vfork:
	case SYS_clone:
	case CLONE3:
		return true;
	default:
		return false;
	}
}

static bool is_pending(pid_t tid)
{
	struct status_signals now;

	return status_signals(tid, &now) == 0 &&
	       (now.pending | now.shared) & signal_bit(SIGSEGV);
}

/* A signal that was to wait would be told at once. */
static bool waits(struct thread *thread)
{
	if (thread->waits)
		thread->waits = thread->kept || is_pending(thread->tid);
	return thread->waits;
}

static bool is_blocked(const struct thread *thread)
{
	return thread->mask_known && thread->mask & signal_bit(SIGSEGV);
}

static bool is_armed(const struct session *session, const struct thread *thread)
{
	return session->phase == PHASE_ARMED &&
	       session->process->survival.installed && !thread->apart;
}

static int lift(struct thread *thread)
{
	struct survival *survival = &thread->process->survival;
	struct user_regs_struct regs;
	uint64_t mask;
	int r = trace_get_mask(thread->tid, &mask);

	if (r < 0 || !(mask & signal_bit(SIGSEGV)))
		return r;
	r = trace_get_regs(thread->tid, &regs);
	if (r < 0)
		return r;
	r = survival_block(survival, thread_inner(thread), mask,
			   frames_innermost(thread, regs.rsp));
	if (r < 0)
		return r;
	thread->lifted = true;
	return trace_set_mask(thread->tid, mask & ~signal_bit(SIGSEGV));
}

void lift_forget(struct thread *thread)
{
	if (thread->lifted)
		survival_unblock(&thread->process->survival, thread->inner);
	thread->lifted = false;
}

int lift_end(struct thread *thread)
{
	uint64_t mask;
	int r = thread->lifted ? trace_get_mask(thread->tid, &mask) : 0;

	if (r < 0 || !thread->lifted)
		return r;
	lift_forget(thread);
	return trace_set_mask(thread->tid, mask | signal_bit(SIGSEGV));
}

/* The program has the mask @mask from now on, as it believes, and @sp. */
static int replace(struct thread *thread, uint64_t mask, uint64_t sp)
{
	int r;

	lift_forget(thread);
	r = survival_block(&thread->process->survival, thread_inner(thread),
			   mask, frames_innermost(thread, sp));
	thread->lifted = r == 0;
	return r;
}

/* 1: the kernel should do it. */
static int new_mask(struct session *session, const struct call *call,
		    uint64_t old, uint64_t *ret)
{
	uint64_t set = 0;

	if (call->args[3] != sizeof(set))
		return 1;
	*ret = old;
	if (!call->args[1])
		return 0;
	if (!fault_allowed(session, call->args[1], sizeof(set), PROT_READ) ||
	    mem_read(session->process->mem, call->args[1], &set, sizeof(set)) <
		    0)
		return 1;
	switch ((int)call->args[0]) {
	case SIG_BLOCK:
		*ret = old | set;
		return 0;
	case SIG_UNBLOCK:
		*ret = old & ~set;
		return 0;
	case SIG_SETMASK:
		*ret = set;
		return 0;
	default:
		return 1;
	}
}

/* One sent to the process that waits for this thread: if it blocks that now,
 * the kernel must wake another one. */
static bool is_handed_on(const struct thread *thread, uint64_t newly)
{
	return process_status(thread->tid, "ShdPnd", 16, 0) & newly;
}

/*
 * rt_sigprocmask(2) that ends with SIGSEGV blocked, done here: were it the
 * kernel, the block would be in force until we see the call's end.
 */
static int set_mask(struct session *session, struct thread *thread,
		    const struct call *call)
{
	struct user_regs_struct regs;
	uint64_t old = thread->mask, mask;
	uint64_t to = call->args[2];
	int r = new_mask(session, call, old, &mask);

	mask &= ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
	if (r != 0 || !(mask & signal_bit(SIGSEGV)) ||
	    call_guarded(session, call->args[1], sizeof(mask)) ||
	    call_guarded(session, to, sizeof(old)) ||
	    (to && !fault_allowed(session, to, sizeof(old), PROT_WRITE)) ||
	    is_handed_on(thread, mask & ~old))
		return 1;
	r = trace_get_regs(thread->tid, &regs);
	if (r == 0 && to)
		r = mem_write(session->process->mem, to, &old, sizeof(old));
	if (r == -EFAULT || replace(thread, mask, regs.rsp) < 0)
		return 1;
	regs.orig_rax = (uint64_t)-1;
	regs.rax = 0;
	if (r == 0)
		r = trace_set_regs(thread->tid, &regs);
	return r < 0 ? r
		     : trace_set_mask(thread->tid, mask & ~signal_bit(SIGSEGV));
}

/* The mask that rt_sigreturn(2) will set, in the frame that is done with. */
static int edit_frame(struct session *session, struct thread *thread,
		      uint64_t frame)
{
	enum { SP = 160, MASK = 296 /* of struct ucontext */ };
	int mem = session->process->mem;
	uint64_t sp, mask, at = frame + MASK;

	if (call_guarded(session, frame, MASK + sizeof(mask)) ||
	    mem_read(mem, frame + SP, &sp, sizeof(sp)) < 0 ||
	    mem_read(mem, at, &mask, sizeof(mask)) < 0 ||
	    !(mask & signal_bit(SIGSEGV)) || replace(thread, mask, sp) < 0)
		return 1;
	mask &= ~signal_bit(SIGSEGV);
	return mem_write(mem, at, &mask, sizeof(mask));
}

int lift_enter(struct session *session, struct thread *thread,
	       const struct call *call)
{
	struct ptrace_syscall_info info = { 0 };
	int r = 1;

	if (!minds_mask(call->number))
		return 0;
	if (call->number == SYS_rt_sigreturn &&
	    trace_syscall_info(thread->tid, &info) == 0)
		frames_leave(thread, info.stack_pointer);
	if (is_armed(session, thread) && !waits(thread)) {
		if (call->number == SYS_rt_sigprocmask && thread->mask_known)
			r = set_mask(session, thread, call);
		else if (call->number == SYS_rt_sigreturn)
			r = edit_frame(session, thread, info.stack_pointer);
	}
	return r == 1 ? lift_end(thread) : r;
}

int lift_wait(struct thread *thread)
{
	thread->waits = true;
	return lift_end(thread);
}

void lift_learn(struct thread *thread)
{
	thread->mask_known = trace_get_mask(thread->tid, &thread->mask) == 0;
	if (thread->lifted)
		thread->mask |= signal_bit(SIGSEGV);
}

void lift_resume(struct session *session, struct thread *thread, int signal)
{
	bool armed = is_armed(session, thread);
	int r = thread->enters ? frames_enter(thread) : 0;

	thread->enters = false;
	if (r < 0 || signal) {
		r = first_error(r, lift_end(thread));
		/* In the handler it is lifted again, at the next stop. */
		thread->enters = armed && is_blocked(thread);
		if (thread->enters)
			thread_interrupt(thread);
	} else if (thread->in_call && minds_mask(thread->last_call)) {
		return; /* as lift_enter() left it */
	} else if (armed && is_blocked(thread) && !waits(thread)) {
		r = thread->lifted ? 0 : lift(thread);
	} else if (thread->lifted && !fault_waits(thread)) {
		r = lift_end(thread);
	}
	/* -ENOSPC: as many threads that it does not survive all of them. */
	if (r < 0 && r != -ESRCH && r != -ENOSPC)
		session_fail(session, r, __func__);
}
