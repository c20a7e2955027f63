/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracer/process/inject.h"
#include "tracer/process/kept.h"
#include "tracer/process/mem.h"

/*
 * Many mprotect(2) calls for one stop: a loop in the scratch memory makes
 * them from a list, notes each result and ends in a trap.
 */

/* What the loop reads and writes; 32 bytes an entry. */
struct entry {
	uint64_t start, size, prot;
	int64_t result;
};

enum { ENTRIES = PAGE / sizeof(struct entry) };

/*
 * One that somebody sent, and that was blocked, comes before that of the loop.
 * So does one of the program's own that was raised when we interrupted it.
 */
static bool at_trap(const struct stop *stop, void *context)
{
	struct thread *thread = context;
	struct user_regs_struct regs;
	siginfo_t info;

	if (stop->kind != STOP_SIGNAL || stop->value != SIGTRAP)
		return false;
	if (trace_get_siginfo(thread->tid, &info) < 0 ||
	    trace_get_regs(thread->tid, &regs) < 0)
		return true;
	return (info.si_code > 0 && !regs.rbp) || kept_add(thread, &info) < 0;
}

/* An ignored SIGTRAP that is forced becomes the default one. */
static int keep_ignored(struct injection *injection)
{
	struct dispositions *all = &injection->thread->process->dispositions;
	const struct disposition *trap = &all->signal[SIGTRAP];

	if (!all->known || trap->handler != (uint64_t)(uintptr_t)SIG_IGN)
		return 0;
	return inject_disposition(injection, SIGTRAP, trap);
}

static int run_loop(struct injection *injection, uint64_t list, size_t count)
{
	struct thread *thread = injection->thread;
	struct user_regs_struct regs = injection->saved;
	int r;

	regs.rip = thread->process->scratch.start + SCRATCH_LOOP;
	regs.rbx = list;
	regs.rbp = count;
	regs.orig_rax = (uint64_t)-1;
	r = inject_set(injection, &regs);
	kept_look(thread, injection->mask & signal_bit(SIGTRAP));
	/* Forced on a thread that blocks it, SIGTRAP would be reset. */
	if (r == 0)
		r = trace_set_mask(thread->tid, ~signal_bit(SIGTRAP));
	if (r == 0)
		r = inject_run(thread, TRACE_CONT, at_trap, thread);
	return first_error(r, trace_set_mask(thread->tid, ~UINT64_C(0)));
}

static int protect_some(struct injection *injection, struct protect *list,
			size_t count)
{
	struct process *process = injection->thread->process;
	uint64_t data = process->scratch.start + SCRATCH_DATA;
	struct entry entry[ENTRIES];
	int r;

	for (size_t i = 0; i < count; i++)
		entry[i] = (struct entry){ list[i].start,
					   list[i].end - list[i].start,
					   (uint64_t)list[i].prot, 0 };
	r = mem_write(process->mem, data, entry, count * sizeof(*entry));
	if (r == 0)
		r = run_loop(injection, data, count);
	if (r == 0)
		r = mem_read(process->mem, data, entry, count * sizeof(*entry));
	if (r == 0)
		r = keep_ignored(injection);
	for (size_t i = 0; r == 0 && i < count; i++)
		list[i].result = (int)entry[i].result;
	return r;
}

static int protect_each(struct injection *injection, struct protect *list,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t args[6] = { list[i].start,
					   list[i].end - list[i].start,
					   (uint64_t)list[i].prot };
		int64_t result = 0;
		int r = inject_call(injection, SYS_mprotect, args, &result);

		if (r < 0)
			return r;
		list[i].result = (int)result;
	}
	return 0;
}

int inject_protect_all(struct injection *injection, struct protect *list,
		       size_t count)
{
	int r = 0;

	/* From the trap at the end of the loop there is no way back if we are
	 * killed. */
	if (injection->thread->process->survival.shared)
		return protect_each(injection, list, count);
	for (size_t i = 0; r == 0 && i < count; i += ENTRIES)
		r = protect_some(injection, list + i,
				 min_u64(count - i, ENTRIES));
	return r;
}
