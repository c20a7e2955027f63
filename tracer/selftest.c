/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/process/kept.h"
#include "tracer/process/mem.h"
#include "tracer/session.h"

/*
 * The self-test: a thread of the target loads from a page of ours that is
 * closed.  If that stop, its decoding and its execution are as they should
 * be, silence later means "no access" and not "not armed".
 */

static const uint64_t probe_value = UINT64_C(0x636c732070726f62);

struct awaited {
	struct thread *thread;
	uint64_t addr;
};

/*
 * A fault of the thread's own that was on its way will be raised again; what
 * was sent, and blocked, will not.
 */
static bool at_fault(const struct stop *stop, void *context)
{
	const struct awaited *awaited = context;
	siginfo_t info;

	if (stop->kind != STOP_SIGNAL || stop->value != SIGSEGV ||
	    trace_get_siginfo(awaited->thread->tid, &info) < 0)
		return false;
	if (info.si_code <= 0 && kept_add(awaited->thread, &info) == 0)
		return false;
	return (uint64_t)(uintptr_t)info.si_addr == awaited->addr;
}

/* Perform the load as any other, and look at what it gave. */
static int perform(struct session *session, struct thread *thread,
		   uint64_t addr)
{
	struct memory memory = process_memory(session->process);
	struct effect effects[ACCESS_MAX];
	struct cpu cpu = { 0 };
	uint8_t bytes[INSN_BYTES];
	struct insn insn;
	unsigned count = 0;
	int r;

	r = trace_get_regs(thread->tid, &cpu.regs);
	if (r == 0)
		r = mem_read(session->process->mem, cpu.regs.rip, bytes,
			     sizeof(bytes));
	if (r == 0)
		r = insn_decode(bytes, sizeof(bytes), &insn);
	if (r == 0)
		r = execute_run(session->execute, &insn, &cpu, &memory, effects,
				&count);
	if (r < 0)
		return r;
	if (r != EXECUTE_DONE || count != 1 || effects[0].access.addr != addr ||
	    effects[0].access.op != ACCESS_READ || cpu.regs.rax != probe_value)
		return -EIO;
	return 0;
}

static int load(struct session *session, struct injection *injection,
		uint64_t probe)
{
	struct user_regs_struct regs = injection->saved;
	struct thread *thread = injection->thread;
	struct awaited awaited = { thread, probe };
	int r;

	regs.rip = session->process->scratch.start + SCRATCH_LOAD;
	regs.rdi = probe;
	regs.orig_rax = (uint64_t)-1;
	r = inject_set(injection, &regs);
	kept_look(thread, injection->mask);
	/* Forced on a thread that blocks it, SIGSEGV would lose its handler. */
	if (r == 0)
		r = trace_set_mask(thread->tid, ~signal_bit(SIGSEGV));
	if (r == 0)
		r = inject_run(thread, TRACE_CONT, at_fault, &awaited);
	if (r == 0)
		r = perform(session, thread, probe);
	return first_error(r, trace_set_mask(thread->tid, ~UINT64_C(0)));
}

int session_self_test(struct session *session, struct injection *injection)
{
	struct process *process = session->process;
	uint64_t probe = process->scratch.start + SCRATCH_PROBE;
	struct disposition *segv = &process->dispositions.signal[SIGSEGV];
	int r;

	r = mem_write(process->mem, probe, &probe_value, sizeof(probe_value));
	if (r == 0)
		r = inject_protect(injection, probe, probe + PAGE, 0);
	if (r == 0)
		r = load(session, injection, probe);
	/* An ignored SIGSEGV that is forced becomes the default one. */
	if (r == 0 && segv->handler == (uint64_t)(uintptr_t)SIG_IGN)
		r = inject_disposition(injection, SIGSEGV, segv);
	session->self_test = r == 0 ? 1 : r;
	return r == -ESRCH ? r : 0;
}
