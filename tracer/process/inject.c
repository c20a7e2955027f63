/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tracer/process/inject.h"
#include "tracer/process/landing.h"
#include "tracer/process/mem.h"
#include "tracer/process/perf.h"
#include "tracer/process/rseq.h"

/* What the kernel puts in rax of a call that it will restart. */
enum { RESTART_FIRST = -516, RESTART_LAST = -512 };

/* In eflags: the processor traps after each instruction. */
static const uint64_t TRAP_FLAG = 1 << 8;

enum { STOPS_MAX = 4096 }; /* on the way to the one that is awaited */

static int resume(struct thread *thread, enum trace_resume how, int signal,
		  struct stop *ret)
{
	int r = trace_resume(thread->tid, how, signal);

	if (r == 0)
		r = thread_wait(thread, ret);
	if (r < 0)
		return r;
	if (ret->kind == STOP_GROUP)
		thread->regroup = true;
	if (ret->kind != STOP_EXEC)
		return 0;
	/* Another thread took its place: what we meant to do to is gone. */
	thread->stop = *ret;
	thread_set_state(thread, THREAD_PARKED);
	return -ESRCH;
}

/*
 * Nothing blocks a SIGSTOP.  The thread takes it and leaves the group stop
 * again on our behalf: sent anew later, it would undo a SIGCONT that came
 * meanwhile.
 */
static bool is_sigstop(const struct stop *stop)
{
	return stop->kind == STOP_SIGNAL && stop->value == SIGSTOP;
}

int inject_resume(struct thread *thread, enum trace_resume how,
		  struct stop *ret)
{
	int r = resume(thread, how, 0, ret);

	while (r == 0 && is_sigstop(ret))
		r = resume(thread, how, SIGSTOP, ret);
	return r;
}

int inject_deliver(struct thread *thread, int signal, struct stop *ret)
{
	return resume(thread, TRACE_STEP, signal, ret);
}

/*
 * A fault that was queued behind an interrupt of ours may be told before one
 * that we wait for, though it is blocked: dequeue_synchronous_signal() takes
 * the first in the queue.  It has changed mask and disposition, so whoever
 * handles it must hear of it: a blocked signal that is given to the thread is
 * queued again.
 */
static int to_queue_again(const struct thread *thread, const struct stop *stop)
{
	const uint64_t faults = signal_bit(SIGSEGV) | signal_bit(SIGBUS) |
				signal_bit(SIGFPE) | signal_bit(SIGILL);
	siginfo_t info;
	uint64_t mask;

	if (stop->kind != STOP_SIGNAL || !(signal_bit(stop->value) & faults) ||
	    trace_get_siginfo(thread->tid, &info) < 0 ||
	    trace_get_mask(thread->tid, &mask) < 0)
		return 0;
	/* Sent, and told only because reenter() does not block it: with the
	 * block in force the kernel puts it back where it was. */
	if (info.si_code <= 0 && thread->reenters && stop->value == SIGSEGV) {
		mask |= signal_bit(SIGSEGV);
		return trace_set_mask(thread->tid, mask) < 0 ? 0 : SIGSEGV;
	}
	return info.si_code > 0 && mask & signal_bit(stop->value) ? stop->value
								  : 0;
}

int inject_run(struct thread *thread, enum trace_resume how,
	       bool (*arrived)(const struct stop *stop, void *context),
	       void *context)
{
	struct stop stop;
	int signal = 0;

	for (int i = 0; i < STOPS_MAX; i++) {
		int r = resume(thread, how, signal, &stop);

		if (r < 0)
			return r;
		if (arrived(&stop, context))
			return 0;
		signal = is_sigstop(&stop) ? SIGSTOP
					   : to_queue_again(thread, &stop);
		if (stop.kind == STOP_INTERRUPT)
			thread->reinterrupt = true;
	}
	return -EIO;
}

static bool at_call(const struct stop *stop, void *context)
{
	return stop->kind == STOP_SYSCALL;
}

static bool at_trap(const struct stop *stop, void *context)
{
	return stop->kind == STOP_INTERRUPT || stop->kind == STOP_GROUP;
}

static int run_to_call(struct thread *thread)
{
	return inject_run(thread, TRACE_SYSCALL, at_call, NULL);
}

/*
 * Look for "syscall" in what the process may execute.  In its own code it may
 * lie on a page that we forbid to execute (entry.c); the vDSO has one, too.
 */
static int find_syscall(struct process *process, bool vdso)
{
	uint8_t bytes[8192];
	int r = process_remap(process);

	if (r < 0)
		return r;
	for (size_t i = 0; i < process->maps->count; i++) {
		const struct mapping *m = &process->maps->mapping[i];
		size_t size = min_u64(sizeof(bytes), m->end - m->start);
		uint8_t *at;

		if (!(m->prot & PROT_EXEC) || m->start >> 47 ||
		    (strcmp(m->path, "[vdso]") == 0) != vdso ||
		    mem_read(process->mem, m->start, bytes, size) < 0)
			continue;
		at = memmem(bytes, size, "\x0f\x05", 2);
		if (at) {
			process->syscall_insn =
				m->start + (uint64_t)(at - bytes);
			return 0;
		}
	}
	return -ENOENT;
}

/* Of a parked stop nobody has asked yet which side of the call it is. */
bool inject_at_entry(const struct thread *thread)
{
	struct ptrace_syscall_info info = { 0 };

	return thread->stop.kind == STOP_SYSCALL &&
	       trace_syscall_info(thread->tid, &info) == 0 &&
	       info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

int inject_begin(struct injection *injection, struct thread *thread)
{
	int r = 0;

	/* Its registers must be those that it will go on with. */
	landing_end(thread);
	perf_pause(thread->perf, true);
	/*
	 * The kernel breaks a sequence off when the thread goes on, but in our
	 * code it would find that the sequence was left.
	 */
	r = rseq_break_off(thread);
	*injection = (struct injection){
		.thread = thread,
		.at_entry = inject_at_entry(thread),
		.at_exec = thread->stop.kind == STOP_EXEC,
	};
	/* Not permitted: then its filters judge our calls, too. */
	if (thread->process->seccomp)
		(void)!trace_options(thread->tid,
				     thread->process->options |
					     TRACE_SUSPEND_SECCOMP);
	if (r == 0 && !thread->process->syscall_insn)
		r = find_syscall(thread->process, true);
	if (r == -ENOENT)
		r = find_syscall(thread->process, false);
	if (r == 0)
		r = trace_get_regs(thread->tid, &injection->saved);
	if (r == 0)
		r = trace_get_mask(thread->tid, &injection->mask);
	return r;
}

static bool waits_for_restart(const struct user_regs_struct *regs)
{
	int64_t result = (int64_t)regs->rax;

	return (int64_t)regs->orig_rax >= 0 && result >= RESTART_FIRST &&
	       result <= RESTART_LAST;
}

/* As the thread would go on without us: a call that waits is made anew. */
static void note_way_back(const struct injection *injection)
{
	struct user_regs_struct regs = injection->saved;

	if (injection->at_entry || waits_for_restart(&regs)) {
		regs.rax = (int64_t)regs.rax == RESTART_FIRST
				   ? SYS_restart_syscall
				   : regs.orig_rax;
		regs.rip -= 2;
	}
	survival_way_back(&injection->thread->process->survival, &regs,
			  injection->mask);
}

int inject_set(struct injection *injection, const struct user_regs_struct *regs)
{
	struct user_regs_struct ours = *regs;
	pid_t tid = injection->thread->tid;
	int r;

	/* A program that steps itself is not to step through what is ours. */
	ours.eflags &= ~TRAP_FLAG;
	if (injection->used)
		return trace_set_regs(tid, &ours);
	note_way_back(injection);
	injection->used = true;
	r = trace_set_regs(tid, &ours);
	/* Not before: killed in between we would leave it so. */
	return r < 0 ? r : trace_set_mask(tid, ~UINT64_C(0));
}

/* To the end of the call that it stands before, which is not made. */
static int leave_call(struct injection *injection)
{
	struct thread *thread = injection->thread;
	struct user_regs_struct regs = injection->saved;
	int r;

	regs.rip = thread->process->syscall_insn + 2;
	regs.orig_rax = (uint64_t)-1;
	r = inject_set(injection, &regs);
	return r < 0 ? r : run_to_call(thread);
}

int inject_call(struct injection *injection, long number,
		const uint64_t args[6], int64_t *result)
{
	struct thread *thread = injection->thread;
	struct user_regs_struct regs = injection->saved;
	bool survives = thread->process->survival.shared;
	bool at_entry = injection->at_entry && !injection->used;
	int r = 0;

	/* The program's own place for a call has no way back from there. */
	if (at_entry && survives) {
		at_entry = false;
		r = leave_call(injection);
	}
	regs.rip = at_entry ? regs.rip : thread->process->syscall_insn;
	regs.rax = (uint64_t)number;
	regs.orig_rax = at_entry ? (uint64_t)number : (uint64_t)-1;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];

	if (r == 0)
		r = inject_set(injection, &regs);
	if (r == 0 && !at_entry)
		r = run_to_call(thread);
	if (r == 0)
		r = run_to_call(thread);
	if (r == 0)
		r = trace_get_regs(thread->tid, &regs);
	*result = (int64_t)regs.rax;
	return r;
}

/* Go back to the entry of the call that was replaced, by making it again. */
static int reenter(struct injection *injection)
{
	struct thread *thread = injection->thread;
	struct survival *survival = &thread->process->survival;
	struct user_regs_struct regs = injection->saved;
	int r = 0;

	if (survival->shared) {
		survival_reenters(survival, thread_inner(thread));
		r = trace_set_mask(thread->tid, SURVIVAL_REENTERS);
	}
	regs.rip -= 2;
	regs.rax = regs.orig_rax;
	regs.orig_rax = (uint64_t)-1;
	if (r == 0)
		r = trace_set_regs(thread->tid, &regs);
	thread->reenters = survival->shared;
	if (r == 0)
		r = run_to_call(thread);
	thread->reenters = false;
	return r;
}

/*
 * Back into a stop where the kernel looks for signals: only there it looks at
 * rax for a restart, too (without it -512 reaches the program), and only there
 * a thread can go on listening in a group stop.
 */
static int trap_again(struct thread *thread)
{
	enum stop_kind kind = thread->stop.kind;
	int r = thread_interrupt(thread);

	if (r == 0)
		r = inject_run(thread, TRACE_SYSCALL, at_trap, NULL);
	if (kind == STOP_INTERRUPT || kind == STOP_GROUP) {
		thread->stop.kind =
			thread->regroup ? STOP_GROUP : STOP_INTERRUPT;
		thread->regroup = false;
	}
	thread->reinterrupt = false; /* the trap is its answer */
	return r;
}

int inject_end(struct injection *injection)
{
	struct thread *thread = injection->thread;
	bool left = injection->used && !injection->at_entry;
	int r = 0;

	perf_pause(thread->perf, false);
	if (thread->stop.kind == STOP_EXEC && !injection->at_exec)
		return 0; /* another program */
	if (injection->used && injection->at_entry)
		r = reenter(injection);
	if (thread->process->seccomp)
		(void)!trace_options(thread->tid, thread->process->options);
	/* Before the registers: whoever has ours finds the way back. */
	if (injection->used)
		r = first_error(r,
				trace_set_mask(thread->tid, injection->mask));
	if (left)
		r = first_error(r,
				trace_set_regs(thread->tid, &injection->saved));
	if (r == 0 && left &&
	    (waits_for_restart(&injection->saved) ||
	     thread->stop.kind == STOP_GROUP))
		return trap_again(thread);
	/* Whoever sent the interrupt that we ate still waits for it: a call
	 * that it broke off is made again only at its stop. */
	if (r == 0 && thread->reinterrupt)
		r = thread_interrupt(thread);
	thread->reinterrupt = false;
	return r;
}

bool inject_possible(const struct thread *thread)
{
	return thread_is_stopped(thread) &&
	       (thread->stop.kind == STOP_SYSCALL ||
		thread->stop.kind == STOP_INTERRUPT ||
		thread->stop.kind == STOP_GROUP);
}

struct thread *inject_thread(struct process *process)
{
	table_for_each(&process->threads, s)
	{
		struct thread *thread = s->value;

		/* Others lie inside a system call, or carry a signal. */
		if (thread_is_stopped(thread) &&
		    (thread->stop.kind == STOP_SYSCALL ||
		     thread->stop.kind == STOP_INTERRUPT ||
		     thread->stop.kind == STOP_GROUP))
			return thread;
	}
	return NULL;
}
