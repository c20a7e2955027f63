/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracer/guard/syscalls.h"
#include "tracer/process/inject.h"
#include "tracer/process/rseq.h"
#include "tracer/refuse.h"

enum {
	TCB_SIZE = 2304, /* struct pthread of glibc 2.36 */
	RSEQ_SIZE = 32,
	ROBUST_SIZE = 24,	  /* struct robust_list_head */
	STACK_WINDOW = 256 << 10, /* of a stack inside other memory */
	STACK_LARGEST = 64 << 20,
};

/*
 * A mapping that is not larger than stacks are is taken whole.  A stack that
 * lies in the heap (coroutines) gets a window around its pointer.
 */
int refuse_stack(struct watch *watch, const struct process *process,
		 uint64_t sp)
{
	const struct mapping *m = maps_find(process->maps, sp);
	uint64_t start, end;

	if (!m)
		return 0;
	start = m->start;
	end = m->end;
	if (strncmp(m->path, "[stack", 6) != 0 &&
	    (m->path[0] || end - start > STACK_LARGEST)) {
		start = max_u64(start, sp - STACK_WINDOW);
		end = min_u64(end, sp + STACK_WINDOW);
	}
	return watch_stack(watch, start, end);
}

/* By then a thread's stack pointer shows where its stack is. */
static int forget_born(struct watch *watch)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < watch->stacks.count; i++)
		r = ranges_remove(&watch->newborn, watch->stacks.range[i].start,
				  watch->stacks.range[i].end);
	return first_error(r, ranges_join(&watch->stacks, &watch->newborn));
}

/*
 * Whoever reads /proc/PID/cmdline or environ, the program among them, gets
 * nothing from a page that is closed.
 */
static int refuse_arguments(struct watch *watch, struct process *process)
{
	enum { FIRST = 48 }; /* arg_start, arg_end, env_start, env_end */
	char path[48], line[2048];
	uint64_t at[4];
	char *word;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", process_proc(process));
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return 0;
	word = strrchr(line, ')'); /* the second; a name may hold spaces */
	for (int i = 2; word && i < FIRST; i++)
		word = strchr(word + 1, ' ');
	if (!word || sscanf(word, "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64,
			    &at[0], &at[1], &at[2], &at[3]) != 4)
		return 0;
	for (int i = 0; r == 0 && i < 4; i += 2)
		if (at[i] < at[i + 1])
			r = watch_refuse(watch, at[i], at[i + 1],
					 REFUSED_ARGUMENTS);
	return r;
}

/* The stack pointer of a thread that does not stand still; 0 unknown. */
static uint64_t sleeping_sp(const struct thread *thread)
{
	char path[64], line[256];
	uint64_t sp = 0;
	char *at;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", thread->tgid,
		 thread->tid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return 0;
	/* "nr a0 a1 a2 a3 a4 a5 sp pc" or "-1 sp pc" */
	at = strrchr(line, ' ');
	if (!at)
		return 0;
	*at = '\0';
	at = strrchr(line, ' ');
	if (at)
		sscanf(at, "%" SCNx64, &sp);
	return sp;
}

static int refuse_robust(struct watch *watch, const struct thread *thread)
{
	uint64_t head = 0;
	size_t length = 0;

	if (syscall(SYS_get_robust_list, thread->tid, &head, &length) < 0 ||
	    !head)
		return 0;
	return watch_refuse(watch, head, head + ROBUST_SIZE, REFUSED_ROBUST);
}

static int refuse_thread(struct watch *watch, struct process *process,
			 struct thread *thread)
{
	struct user_regs_struct regs;
	int r;

	if (thread_is_stopped(thread) &&
	    trace_get_regs(thread->tid, &regs) == 0) {
		thread->fs_base = regs.fs_base;
		thread->rseq_known = false;
		rseq_area(thread);
		r = refuse_stack(watch, process, regs.rsp);
	} else {
		r = refuse_stack(watch, process, sleeping_sp(thread));
	}
	if (r == 0 && thread->fs_base)
		r = watch_refuse(watch, thread->fs_base,
				 thread->fs_base + TCB_SIZE, REFUSED_TCB);
	if (r == 0 && thread->rseq)
		r = watch_refuse(watch, thread->rseq, thread->rseq + RSEQ_SIZE,
				 REFUSED_RSEQ);
	if (r == 0 && thread->clear_tid)
		r = watch_refuse(watch, thread->clear_tid,
				 thread->clear_tid + 4, REFUSED_TID);
	return r == 0 ? refuse_robust(watch, thread) : r;
}

static bool uses_altstacks(const struct process *process)
{
	for (int signal = 1; signal <= SIGNALS; signal++)
		if (process->dispositions.signal[signal].flags & SA_ONSTACK)
			return true;
	return false;
}

/* Only the thread itself can be asked where its alternate stack is. */
static int ask_altstack(struct thread *thread)
{
	struct injection injection;
	int r = inject_begin(&injection, thread);

	if (r == 0)
		r = inject_altstack(&injection, &thread->altstack,
				    &thread->altstack_size);
	r = first_error(r, inject_end(&injection));
	return r == -ESRCH ? 0 : r;
}

static int refuse_altstack(struct watch *watch, struct thread *thread)
{
	int r = 0;

	if (thread_is_stopped(thread) && (thread->stop.kind == STOP_SYSCALL ||
					  thread->stop.kind == STOP_INTERRUPT ||
					  thread->stop.kind == STOP_GROUP))
		r = ask_altstack(thread);
	if (r == 0 && thread->altstack_size)
		r = watch_refuse(watch, thread->altstack,
				 thread->altstack + thread->altstack_size,
				 REFUSED_ALTSTACK);
	return r;
}

/* That it will make again: it was broken off, or has not begun. */
static bool stands_in_call(const struct thread *thread, struct call *ret)
{
	struct user_regs_struct regs;
	int64_t result;

	if (!thread_is_stopped(thread) ||
	    trace_get_regs(thread->tid, &regs) < 0 ||
	    (int64_t)regs.orig_rax < 0)
		return false;
	result = (int64_t)regs.rax;
	*ret = (struct call){ (int)regs.orig_rax,
			      { regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8,
				regs.r9 } };
	if (regs.orig_rax == SYS_restart_syscall && thread->last_call >= 0) {
		ret->number = thread->last_call;
		memcpy(ret->args, thread->last_args, sizeof(ret->args));
	}
	return result == -ENOSYS || (result <= -512 && result >= -516);
}

/*
 * A thread that sleeps on a futex looks at it again when we have interrupted
 * it: killed before we see that we would leave the call to fail, of which no
 * handler hears, and which no library bears.
 */
static int refuse_futex(struct watch *watch, struct process *process,
			const struct thread *thread)
{
	struct memory memory = process_memory(process);
	struct call_plan plan;
	struct call call;
	int r = 0;

	if (!stands_in_call(thread, &call))
		return 0;
	call_describe(&call, &memory, &plan);
	if (!(plan.flags & CALL_FUTEX))
		return 0;
	for (unsigned i = 0; r == 0 && i < plan.count; i++)
		if (plan.buffer[i].size)
			r = watch_refuse(watch, plan.buffer[i].addr,
					 plan.buffer[i].addr +
						 plan.buffer[i].size,
					 REFUSED_FUTEX);
	return r;
}

int refuse_threads(struct watch *watch, struct process *process)
{
	bool altstacks = uses_altstacks(process);
	int first;

	ranges_clear(&watch->stacks);
	first = refuse_arguments(watch, process);
	if (first < 0)
		return first;

	table_for_each(&process->threads, s)
	{
		struct thread *thread = s->value;
		int r = refuse_thread(watch, process, thread);

		if (r == 0 && watch->no_stacks)
			r = refuse_futex(watch, process, thread);
		if (r == 0 && altstacks)
			r = refuse_altstack(watch, thread);
		if (r < 0)
			return r;
	}
	return forget_born(watch);
}
