/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "disasm/registers.h"
#include "tracer/fault.h"
#include "tracer/growth.h"
#include "tracer/process/inject.h"
#include "tracer/process/kept.h"
#include "tracer/process/mem.h"

/*
 * One instruction with its pages open, all other threads held: for what we
 * cannot perform, and for exceptions that only the processor raises right.
 */

enum {
	FAULTS_MAX = 64, /* pages that one instruction can touch, and more */
	RUNS_MAX = 64,	 /* of bytes that one instruction changed */
};

struct stepping {
	struct session *session;
	struct thread *thread;
	const struct insn *insn;
	const struct user_regs_struct *regs;
	uint64_t fault_addr;
	uint64_t mask; /* of the thread, to be put back */

	struct effect effects[RUNS_MAX];
	unsigned count;
	uint8_t page[PAGE]; /* before, where the access is not known */
	struct ranges opened;
	bool raised; /* the instruction raised an exception of its own */
	bool traps;  /* the program steps itself: it gets the SIGTRAP, too */
};

static uint32_t shown(uint64_t size)
{
	return (uint32_t)min_u64(size, EFFECT_SHOWN);
}

/* What it is going to touch, with the bytes that are there now. */
static void look_before(struct stepping *s)
{
	struct access access[ACCESS_MAX];
	int mem = s->session->process->mem;

	if (s->insn)
		s->count = access_of(s->insn, s->regs, access);
	/* The xsave family: as much as the processor has state. */
	if (s->count && !access[0].size)
		s->count = 0;
	for (unsigned i = 0; i < s->count; i++) {
		s->effects[i].access = access[i];
		s->effects[i].shown = shown(access[i].size);
		if (mem_read(mem, access[i].addr, s->effects[i].old,
			     s->effects[i].shown) < 0)
			s->effects[i].shown = 0;
	}
	if (s->count == 0)
		(void)!mem_read(mem, page_down(s->fault_addr), s->page, PAGE);
}

/* The processor has pushed the flag that made it step. */
static int mend_flags(struct stepping *s)
{
	const struct insn *insn = s->insn;
	int mem = s->session->process->mem;
	uint8_t flags;
	uint64_t at;
	int r;

	if (!insn || insn->kind != INSN_STACK || insn->opcode != 0x9c ||
	    s->regs->eflags & FLAG_TF)
		return 0;
	at = s->regs->rsp - insn->size + 1;
	r = mem_read(mem, at, &flags, 1);
	flags &= ~(FLAG_TF >> 8);
	return r < 0 ? r : mem_write(mem, at, &flags, 1);
}

static void add_run(struct stepping *s, const uint8_t *after, size_t first,
		    size_t size)
{
	struct effect *effect = &s->effects[s->count++];

	*effect = (struct effect){
		.access = { .addr = page_down(s->fault_addr) + first,
			    .size = size,
			    .op = ACCESS_WRITE,
			    .count = 1 },
		.shown = shown(size),
	};
	memcpy(effect->old, s->page + first, effect->shown);
	memcpy(effect->new, after + first, effect->shown);
}

/*
 * Nothing told what it touches: each run of bytes that changed does, or at
 * least the address that faulted.
 */
static void guess(struct stepping *s)
{
	uint8_t after[PAGE];
	size_t at = 0;

	if (mem_read(s->session->process->mem, page_down(s->fault_addr), after,
		     PAGE) < 0)
		memcpy(after, s->page, PAGE);
	while (at < PAGE && s->count < RUNS_MAX) {
		size_t first = at;

		while (at < PAGE && after[at] != s->page[at])
			at++;
		if (at > first)
			add_run(s, after, first, at - first);
		at++;
	}
	if (s->count)
		return;
	s->effects[s->count++] = (struct effect){
		.access = { .addr = s->fault_addr,
			    .size = 1,
			    .op = s->insn && s->insn->op ? s->insn->op
							 : ACCESS_READ,
			    .count = 1 },
	};
}

static void look_after(struct stepping *s)
{
	if (s->count == 0) {
		s->session->counts.unknown++;
		guess(s);
		return;
	}
	for (unsigned i = 0; i < s->count; i++)
		if (mem_read(s->session->process->mem,
			     s->effects[i].access.addr, s->effects[i].new,
			     s->effects[i].shown) < 0)
			s->effects[i].shown = 0;
}

static int open_range(struct stepping *s, struct injection *injection,
		      uint64_t start, uint64_t end)
{
	const struct range *next;
	int r = 0;

	start = page_down(start);
	end = page_up(end);
	while (r == 0 &&
	       (next = ranges_overlap(&s->session->guard.closed, start, end))) {
		uint64_t low = max_u64(start, next->start);
		uint64_t high = min_u64(end, next->end);

		r = ranges_add(&s->opened, low, high, 0);
		if (r == 0)
			r = guard_open(&s->session->guard, injection, low,
				       high);
	}
	return r;
}

static int open_pages(struct stepping *s, uint64_t addr)
{
	struct injection injection;
	int r = inject_begin(&injection, s->thread);

	if (r == 0)
		r = open_range(s, &injection, addr, addr + 1);
	for (unsigned i = 0; r == 0 && i < s->count; i++) {
		const struct access *a = &s->effects[i].access;

		if (a->size <= 2 * PAGE)
			r = open_range(s, &injection, a->addr,
				       a->addr + max_u64(a->size, 1));
	}
	return first_error(r, inject_end(&injection));
}

/*
 * Signals wait until the step is done.  Our own SIGTRAP and SIGSEGV must not be
 * blocked, or the kernel resets what the program does with them.
 */
static int block_signals(struct stepping *s)
{
	const uint64_t faults = signal_bit(SIGTRAP) | signal_bit(SIGSEGV) |
				signal_bit(SIGBUS) | signal_bit(SIGFPE) |
				signal_bit(SIGILL);
	const uint64_t ours =
		signal_bit(SIGSEGV) | (s->traps ? 0 : signal_bit(SIGTRAP));
	int r = trace_get_mask(s->thread->tid, &s->mask);

	if (r < 0)
		return r;
	kept_look(s->thread, s->mask);
	return trace_set_mask(s->thread->tid,
			      (~faults | (s->mask & faults)) & ~ours);
}

/* 1: the step is done, or an exception was raised; 0: not yet. */
static int step_once(struct stepping *s)
{
	struct thread *thread = s->thread;
	siginfo_t info;
	struct stop stop;
	uint64_t addr;
	int r;

	r = inject_resume(thread, TRACE_STEP, &stop);
	if (r < 0)
		return r;
	thread->stop = stop;
	if (stop.kind != STOP_SIGNAL)
		return 0;
	r = trace_get_siginfo(thread->tid, &info);
	if (r < 0)
		return r;
	r = kept_take(thread, &info);
	if (r != 0)
		return r < 0 ? r : 0;
	if (stop.value == SIGTRAP)
		return 1;
	addr = (uint64_t)(uintptr_t)info.si_addr;
	if (stop.value == SIGSEGV && growth_below(s->session, addr)) {
		r = growth_look(s->session, NULL);
		if (r == 0 && growth_exceeds(s->session, addr))
			r = growth_deny(thread);
		if (r < 0)
			return r;
	}
	if (stop.value == SIGSEGV &&
	    guard_closed(&s->session->guard, addr, addr + 1))
		return open_pages(s, addr);
	s->raised = true;
	return 1;
}

static int run(struct stepping *s)
{
	int r = block_signals(s);

	for (int i = 0; r == 0 && i < FAULTS_MAX; i++)
		r = step_once(s);
	if (r == 0)
		r = -EIO;
	r = first_error(r, trace_set_mask(s->thread->tid, s->mask));
	return r > 0 ? 0 : r;
}

/*
 * The signal of a thread that raised an exception would be lost by an
 * injection.  Another thread lends itself; alone, it closes them when its
 * signal is delivered (raise.h).
 */
static int close_pages(struct stepping *s)
{
	struct session *session = s->session;
	struct thread *other;

	if (!s->raised && !s->traps)
		return session_close(session, s->thread, &s->opened);
	other = inject_thread(session->process);
	if (other)
		return session_close(session, other, &s->opened);
	s->thread->raises = true;
	return ranges_join(&session->reclose, &s->opened);
}

static void report(struct stepping *s)
{
	uint8_t bytes[INSN_BYTES] = { 0 };
	struct effect_report report = {
		.regs = s->regs,
		.insn = s->insn,
		.bytes = bytes,
		.nbytes = INSN_BYTES,
		.how = "step",
		.ip = s->regs->rip,
	};

	(void)!mem_read(s->session->process->mem, s->regs->rip, bytes,
			sizeof(bytes));
	s->session->log->insns++;
	for (unsigned i = 0; i < s->count; i++) {
		report.effect = &s->effects[i];
		report_access(s->session, s->thread, &report);
	}
}

/*
 * A division read its operand before it found that it cannot divide; of other
 * exceptions it is not known how far the instruction came.
 */
static void report_raised(struct stepping *s)
{
	unsigned count = 0;

	if (s->thread->stop.value != SIGFPE)
		return;
	for (unsigned i = 0; i < s->count; i++) {
		if (!(s->effects[i].access.op & ACCESS_READ))
			continue;
		s->effects[count] = s->effects[i];
		s->effects[count++].access.op = ACCESS_READ;
	}
	s->count = count;
	report(s);
}

int session_step(struct session *session, struct thread *thread,
		 const struct insn *insn, const siginfo_t *info,
		 struct user_regs_struct *regs)
{
	struct stepping *s = calloc(1, sizeof(*s));
	int r, answer;

	if (!s)
		return -ENOMEM;
	s->session = session;
	s->thread = thread;
	s->insn = insn;
	s->regs = regs;
	s->fault_addr = (uint64_t)(uintptr_t)info->si_addr;
	s->traps = regs->eflags & FLAG_TF;

	r = process_hold(session->process, thread, HOLD_USER);
	session->parked = true;
	look_before(s);
	if (r == 0)
		r = open_pages(s, s->fault_addr);
	if (r == 0)
		r = run(s);
	if (r == 0 && !s->raised)
		r = mend_flags(s);
	if (r == 0 && !s->raised) {
		session->counts.stepped++;
		look_after(s);
		report(s);
		if (!s->traps)
			r = session_unforce(session, thread, SIGTRAP);
	} else if (r == 0) {
		report_raised(s);
	}
	if (r == 0)
		r = growth_opened(session, &s->opened,
				  s->raised ||
					  session->policy == POLICY_EVERY ||
					  async_minds(session, s->fault_addr));
	if (r == 0 && s->opened.count)
		r = close_pages(s);
	answer = s->raised || s->traps ? FAULT_THEIRS : FAULT_OURS;
	ranges_done(&s->opened);
	free(s);
	return r < 0 ? r : answer;
}
