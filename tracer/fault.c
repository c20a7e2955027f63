/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/ahead.h"
#include "tracer/async.h"
#include "tracer/fault.h"
#include "tracer/growth.h"
#include "tracer/process/mem.h"
#include "tracer/process/rseq.h"
#include "tracer/process/status.h"
#include "tracer/refuse.h"
#include "tracer/userfault.h"
#include "tracer/vector.h"

enum {
	SEGV_BY_RIGHTS = 2, /* SEGV_ACCERR */
	DECODED_MAX = 1 << 16,
};

void fault_forget(struct session *session)
{
	table_for_each(&session->decoded, s) free(s->value);
	table_done(&session->decoded);
	ahead_forget(session->ahead);
}

/* As many bytes as there are: an instruction may end at its mapping's end. */
static int read_code(struct session *session, struct decoded *decoded,
		     uint64_t ip)
{
	unsigned size = INSN_BYTES;
	int r = mem_read(session->process->mem, ip, decoded->bytes, size);

	if (r == -EFAULT) {
		size = (unsigned)min_u64(INSN_BYTES, PAGE - ip % PAGE);
		r = mem_read(session->process->mem, ip, decoded->bytes, size);
	}
	decoded->nbytes = size;
	return r;
}

size_t fault_stable(struct session *session, uint64_t ip)
{
	const struct mapping *m = maps_find(session->process->maps, ip);

	if (!m || session->rewrites || !(m->prot & PROT_EXEC) ||
	    !maps_constant(session->process->maps, m))
		return 0;
	return m->end - ip;
}

int fault_decode(struct session *session, uint64_t ip, struct decoded **ret)
{
	struct decoded *decoded = table_get(&session->decoded, ip);
	struct decoded fresh = { 0 };
	int r;

	if (decoded && decoded->stable) {
		*ret = decoded;
		return 0;
	}
	r = read_code(session, &fresh, ip);
	if (r < 0)
		return r;
	if (decoded && decoded->nbytes == fresh.nbytes &&
	    memcmp(decoded->bytes, fresh.bytes, fresh.nbytes) == 0) {
		*ret = decoded;
		return 0;
	}

	if (session->decoded.count >= DECODED_MAX)
		fault_forget(session);
	decoded = table_get(&session->decoded, ip);
	if (!decoded) {
		decoded = malloc(sizeof(*decoded));
		if (!decoded)
			return -ENOMEM;
		r = table_put(&session->decoded, ip, decoded);
		if (r < 0) {
			free(decoded);
			return r;
		}
	}
	*decoded = fresh;
	decoded->result =
		insn_decode(decoded->bytes, decoded->nbytes, &decoded->insn);
	decoded->stable = fault_stable(session, ip) > INSN_BYTES;
	*ret = decoded;
	return 0;
}

/* Registers back; most stores change none but rip. */
static int store_regs(struct session *session, struct thread *thread,
		      struct user_regs_struct *before, struct cpu *cpu,
		      const struct ahead_result *changed)
{
	uint64_t ip = before->rip, next = cpu->regs.rip;
	int r = 0;

	if (changed->vector)
		r = vector_store(session, thread, cpu, &next);
	if (r < 0)
		return r;
	before->rip = cpu->regs.rip = next;
	if (memcmp(before, &cpu->regs, sizeof(*before)) == 0)
		r = trace_set_ip(thread->tid, next);
	else
		r = trace_set_regs(thread->tid, &cpu->regs);
	before->rip = ip;
	return r;
}

/* Under "first" and "sample" a page that was seen is opened. */
static int open_seen(struct session *session, struct thread *thread,
		     const struct effect *effects, unsigned count)
{
	uint64_t low = session->watch.low;
	struct injection injection;
	int r = inject_begin(&injection, thread);

	for (unsigned i = 0; r == 0 && i < count; i++) {
		uint64_t start = page_down(effects[i].access.addr);
		uint64_t end = page_up(effects[i].access.addr +
				       max_u64(effects[i].access.size, 1));

		if (async_minds(session, effects[i].access.addr))
			continue;
		if (low && start <= low && low < end)
			start = low + PAGE; /* growth.h */
		if (start < end)
			r = guard_open(&session->guard, &injection, start, end);
	}
	return first_error(r, inject_end(&injection));
}

static void report_effects(struct session *session, struct thread *thread,
			   const struct decoded *decoded,
			   const struct user_regs_struct *regs,
			   const struct effect *effects, unsigned count)
{
	struct effect_report report = {
		.regs = regs,
		.insn = &decoded->insn,
		.bytes = decoded->bytes,
		.nbytes = decoded->insn.length,
		.how = "native",
		.ip = regs->rip,
	};

	session->log->insns++;
	for (unsigned i = 0; i < count; i++) {
		report.effect = &effects[i];
		report_access(session, thread, &report);
	}
}

static bool opens_pages(const struct session *session)
{
	return session->policy != POLICY_EVERY;
}

/* Perform it here.  EXECUTE_STEP: it must be stepped. */
static int perform(struct session *session, struct thread *thread,
		   struct decoded *decoded, struct user_regs_struct *regs)
{
	const struct insn *insn = &decoded->insn;
	struct ahead_result changed = { .vector = insn->vector_out };
	struct survival *survival = &session->process->survival;
	struct memory memory = fault_memory(session);
	struct effect effects[ACCESS_MAX];
	struct cpu cpu = { .regs = *regs };
	unsigned count = 0;
	int r = 0;

	if (insn->vector_in)
		r = vector_load(session, thread, &cpu);
	survival_begin(survival, regs->rip, regs->rsp,
		       survival->shared ? thread_inner(thread) : 0);
	if (r == 0)
		r = execute_run(session->execute, insn, &cpu, &memory, effects,
				&count);
	if (r != EXECUTE_DONE) {
		survival_end(survival);
		return r == -ESRCH ? r : EXECUTE_STEP;
	}

	session->counts.performed++;
	report_effects(session, thread, decoded, regs, effects, count);
	r = session_ahead(session, thread, decoded, &cpu, &changed);
	r = first_error(r, store_regs(session, thread, regs, &cpu, &changed));
	survival_end(survival);
	if (r == 0 && opens_pages(session))
		r = open_seen(session, thread, effects, count);
	return r;
}

/*
 * A fault on a page that is open by now was raised while it was closed: the
 * thread tries again.  It is the program's own if its rights forbid it.
 */
static int try_again(struct session *session, const struct decoded *decoded,
		     const struct user_regs_struct *regs, uint64_t addr)
{
	bool writes = decoded->result == 0 &&
		      access_writes(&decoded->insn, regs, addr);

	if (guard_prot(&session->guard, addr) < 0)
		session->process->maps_stale = true;
	return fault_allowed(session, addr, 1, PROT_READ | PROT_WRITE) ||
			       (fault_allowed(session, addr, 1, PROT_READ) &&
				!writes)
		       ? FAULT_OURS
		       : FAULT_THEIRS;
}

/*
 * The kernel could not read what a restartable sequence is, to break it off:
 * it lies on a closed page.  Done for it; the page is given up.
 */
static int break_off(struct session *session, struct thread *thread)
{
	uint64_t at = rseq_sequence(thread);
	int r;

	if (!at || !guard_closed(&session->guard, at, at + RSEQ_DESCRIPTION))
		return FAULT_THEIRS;
	/* First: the kernel looks again whenever the thread has run. */
	r = rseq_break_off(thread);
	if (r == 0)
		r = session_unforce(session, thread, SIGSEGV);
	return r < 0 ? r
		     : session_refuse(session, thread, at,
				      at + RSEQ_DESCRIPTION, REFUSED_SEQUENCE);
}

/* One on a closed page; also if that was only just added to a stack. */
static int is_ours(struct session *session, struct thread *thread,
		   const siginfo_t *info, uint64_t addr)
{
	int r = 0;

	if (info->si_code != SEGV_BY_RIGHTS)
		return 0;
	if (growth_exceeds(session, addr))
		return growth_deny(thread);
	if (!guard_was_closed(&session->guard, addr) &&
	    growth_below(session, addr))
		r = growth_look(session, NULL);
	return r < 0 ? r : guard_was_closed(&session->guard, addr);
}

static int serve(struct session *session, struct thread *thread,
		 const siginfo_t *info)
{
	uint64_t addr = (uint64_t)(uintptr_t)info->si_addr;
	struct decoded *decoded;
	struct user_regs_struct regs;
	int r;

	if (info->si_code == SI_KERNEL)
		return break_off(session, thread);
	r = is_ours(session, thread, info, addr);
	if (r <= 0)
		return r < 0 ? r : FAULT_THEIRS;
	r = process_remap(session->process);
	if (r < 0)
		return r;
	/* Other code may lie at the same address by now. */
	if (session->decoded_remaps != session->process->remaps)
		fault_forget(session);
	session->decoded_remaps = session->process->remaps;
	r = trace_get_regs(thread->tid, &regs);
	if (r == 0)
		r = fault_decode(session, regs.rip, &decoded);
	if (r < 0)
		return r == -EFAULT ? FAULT_THEIRS : r;
	if (guard_was_closed(&session->guard, regs.rip) || addr == regs.rip)
		return FAULT_THEIRS;
	if (!ranges_find(&session->guard.closed, addr)) {
		r = try_again(session, decoded, &regs, addr);
		return r == FAULT_OURS
			       ? session_unforce(session, thread, SIGSEGV)
			       : r;
	}

	session->counts.faults++;
	resolver_epoch(session->resolver);
	r = session_unforce(session, thread, SIGSEGV);
	/*
	 * Its stop breaks a restartable sequence off: it would never come to
	 * its end, and to perform its last store would make good what must
	 * not be.
	 */
	if (r == 0 && rseq_holds(thread, regs.rip))
		return session_refuse(session, thread, addr, addr + 1,
				      REFUSED_SEQUENCE);
	if (r < 0)
		return r;

	if (decoded->result == 0 && decoded->insn.kind != INSN_STEP &&
	    decoded->insn.kind != INSN_NONE &&
	    !session_shadows(session, thread, &decoded->insn)) {
		r = perform(session, thread, decoded, &regs);
		if (r != EXECUTE_STEP)
			return r;
	}
	if (decoded->result == 0 &&
	    userfault_touches(session, &decoded->insn, &regs))
		return session_refuse(session, thread, addr, addr + 1,
				      REFUSED_USERFAULT);
	return session_step(session, thread,
			    decoded->result == 0 ? &decoded->insn : NULL, info,
			    &regs);
}

int session_fault(struct session *session, struct thread *thread,
		  const siginfo_t *info)
{
	uint64_t addr = (uint64_t)(uintptr_t)info->si_addr;
	int r = serve(session, thread, info);

	/* What was stored in a ring of its io_uring is looked at at once. */
	return r == FAULT_OURS && async_minds(session, addr)
		       ? async_stored(session, thread, addr)
		       : r;
}

bool fault_waits(const struct thread *thread)
{
	uint64_t bit = signal_bit(SIGSEGV);
	struct status_signals now;

	if (thread->stop.kind == STOP_SIGNAL ||
	    status_signals(thread->tid, &now) < 0 || now.blocked & bit)
		return false; /* the kernel lifts the block for faults */
	/* What was sent to the process may stand for a fault of a thread's
	 * that blocked it. */
	if (thread->mask_known && thread->mask & bit)
		now.pending |= now.shared;
	return now.pending & bit;
}

bool fault_is_told(const struct session *session, const struct thread *thread)
{
	siginfo_t info;

	return thread->stop.kind == STOP_SIGNAL &&
	       thread->stop.value == SIGSEGV &&
	       trace_get_siginfo(thread->tid, &info) == 0 && info.si_code > 0 &&
	       (entry_reached(session, &info) ||
		guard_was_closed(&session->guard,
				 (uint64_t)(uintptr_t)info.si_addr));
}
