/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "disasm/registers.h"
#include "tracer/ahead.h"
#include "tracer/family.h"
#include "tracer/process/descriptors.h"
#include "tracer/process/mem.h"
#include "tracer/process/status.h"
#include "tracer/vector.h"
#include "tracer/wake.h"

enum {
	SPELL_NS = 1000000, /* a signal, or another thread, waits so long */
	PIECE = 512,	    /* instructions between two looks at the clock */
	ACCESSES = 32,	    /* likewise, which cost more */
	RED_ZONE = 128,
	VAIN = 4,      /* runs that led nowhere before it is left alone ... */
	VAIN_EACH = 64 /* ... but for one stop of so many */
};

struct running {
	struct session *session;
	struct thread *thread;
	const struct cpu *cpu;
	struct ahead_host host;
	uint64_t deadline; /* monotonic, ns */
	unsigned accesses;
	bool over;
};

static int read_memory(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct session *session = context;
	int r = mem_read(session->process->mem, addr, buffer, size);

	if (r == 0)
		window_overlay(session->windows, addr, buffer, size);
	return r;
}

struct memory session_memory(struct session *session)
{
	return (struct memory){ .context = session, .read = read_memory };
}

static bool is_alone(const struct session *session)
{
	return session->process->threads.count == 1 &&
	       session->family->orphans.count == 0;
}

/* A closed page: who else touches it comes to us, or, in a call, waits. */
static int closed_rights(const struct session *session,
			 const struct range *closed, const struct mapping *m,
			 uint64_t addr)
{
	int rights = WINDOW_READ | WINDOW_WATCHED;

	if (m->shared || !(closed->tag & PROT_READ) ||
	    ranges_find(&session->pinned, addr))
		return 0;
	/* Others may read it all the while, and would see stores late. */
	if (session->guard.writes_only && !is_alone(session))
		return 0;
	return closed->tag & PROT_WRITE ? rights | WINDOW_WRITE : rights;
}

/*
 * The only thread's memory, that nobody else maps; of its stack what is in
 * use.  Where the kernel writes for a thread (rseq, the word it clears) it
 * does so when the thread runs, or ends: all that was stored is there by then.
 */
static bool is_own(const struct running *running, const struct mapping *m,
		   uint64_t addr)
{
	const struct session *session = running->session;
	const struct range *never = ranges_find(&session->watch.never, addr);
	uint64_t sp = running->cpu->regs.rsp;

	if (!is_alone(session) || m->shared ||
	    m->prot != (PROT_READ | PROT_WRITE))
		return false;
	if (never &&
	    (never->tag == REFUSED_ASYNC || never->tag == REFUSED_OURS))
		return false;
	return sp < m->start || sp >= m->end ||
	       addr >= page_down(sp - RED_ZONE);
}

static int rights(const struct running *running, uint64_t addr)
{
	const struct session *session = running->session;
	const struct range *closed = ranges_find(&session->guard.closed, addr);
	const struct mapping *m = maps_find(session->process->maps, addr);

	if (!m)
		return 0;
	if (closed)
		return closed_rights(session, closed, m, addr);
	if (ranges_find(&session->guard.pages, addr))
		return 0; /* open for a call */
	if (is_own(running, m, addr))
		return WINDOW_READ | WINDOW_WRITE;
	return m->prot & PROT_READ && maps_constant(session->process->maps, m)
		       ? WINDOW_READ
		       : 0;
}

static int load(void *context, uint64_t addr, uint8_t bytes[PAGE])
{
	const struct running *running = context;
	int r = rights(running, addr);

	if (r &&
	    mem_read(running->session->process->mem, addr, bytes, PAGE) < 0)
		return 0;
	return r;
}

static int store(void *context, uint64_t addr, const void *bytes, size_t size)
{
	const struct running *running = context;

	return mem_write(running->session->process->mem, addr, bytes, size);
}

static void stored(void *context, uint64_t addr, const void *bytes, size_t size)
{
	const struct running *running = context;

	resolver_stored(running->session->resolver, addr, bytes, size);
	stack_stored(running->session, addr, bytes, size);
}

static size_t code(void *context, uint64_t ip, uint8_t *bytes, size_t size)
{
	struct running *running = context;

	size = min_u64(size, fault_stable(running->session, ip));
	if (size &&
	    mem_read(running->session->process->mem, ip, bytes, size) < 0)
		return 0;
	return size;
}

static int vector(void *context, struct cpu *cpu)
{
	struct running *running = context;

	return vector_load(running->session, running->thread, cpu);
}

static bool is_over(struct running *running)
{
	const struct session *session = running->session;

	return family_is_full(session->family) || session->failure ||
	       session->log->gone || wake_leave();
}

static void report(struct running *running, const struct ahead_access *access)
{
	struct session *session = running->session;
	struct effect_report report = {
		.regs = access->regs,
		.insn = access->insn,
		.bytes = access->insn->bytes,
		.nbytes = access->insn->length,
		.how = "run_ahead",
		.ip = access->regs->rip,
	};

	session->log->insns++;
	session->counts.run_ahead++;
	for (unsigned i = 0; i < access->count; i++) {
		report.effect = &access->effects[i];
		report_access(session, running->thread, &report);
	}
}

static enum ahead_answer on_access(void *context,
				   const struct ahead_access *access)
{
	struct running *running = context;

	resolver_went_on(running->session->resolver);
	report(running, access);
	running->over = is_over(running);
	if (++running->accesses % ACCESSES == 0)
		running->over |= session_now() >= running->deadline;
	return running->over ? AHEAD_STOP : AHEAD_ON;
}

/*
 * What the program itself has open to see its own accesses by, or to share
 * memory with the kernel, which minds their order (io_uring: rings of buffers).
 */
static bool has_watchers(pid_t pid)
{
	static const char *const watchers[] = {
		"anon_inode:\\[perf_event]",
		"anon_inode:\\[userfaultfd]",
		"anon_inode:\\[io_uring]",
	};

	return descriptors_any(pid, watchers, ARRAY_SIZE(watchers));
}

/*
 * A hardware breakpoint, which is a counter to the kernel, would miss what is
 * not run by the thread; call and ret would leave the shadow stack behind.
 */
static bool is_barred(struct session *session, const struct thread *thread)
{
	struct status status;

	if (session->ahead_remaps == session->process->remaps)
		return session->ahead_barred;
	session->ahead_remaps = session->process->remaps;
	session->shadow_stack =
		status_read(thread->tid, &status) < 0 || status.shadow_stack;
	session->ahead_barred =
		session->shadow_stack || has_watchers(thread->tgid);
	return session->ahead_barred;
}

bool session_shadows(struct session *session, const struct thread *thread,
		     const struct insn *insn)
{
	if (insn->kind != INSN_STACK)
		return false;
	switch (insn->opcode) {
	case 0xff: /* call among them */
		if ((insn->reg & 7) != 2)
			return false;
		break;
	case 0xc2 ... 0xc3: /* ret */
	case 0xe8:	    /* call */
		break;
	default:
		return false;
	}
	return is_barred(session, thread) && session->shadow_stack;
}

void session_ahead_after(struct session *session, int call)
{
	if (call == SYS_perf_event_open || call == SYS_userfaultfd ||
	    call == SYS_io_uring_setup)
		session->ahead_remaps = 0; /* the first map is number 1 */
}

static bool is_wanted(struct session *session, struct thread *thread,
		      struct decoded *from)
{
	/* What a run wrote could not be undone if we were killed. */
	if (session->options->no_run_ahead || session->survives ||
	    !from->stable || session->policy != POLICY_EVERY ||
	    session->phase != PHASE_ARMED ||
	    process_remap(session->process) < 0 ||
	    session->decoded_remaps != session->process->remaps)
		return false;
	if (from->vain >= VAIN && ++from->waited < VAIN_EACH)
		return false;
	from->waited = 0;
	return !is_barred(session, thread);
}

static uint64_t run(struct running *running, struct cpu *cpu,
		    struct ahead_result *changed)
{
	struct ahead_result result;
	uint64_t accesses = 0;

	do {
		ahead_run(running->session->ahead, cpu, &running->host, PIECE,
			  &result);
		accesses += result.accesses;
		changed->vector |= result.vector;
		/* As many without an access cost what a stop does. */
	} while (result.insns >= PIECE && result.accesses && !running->over &&
		 session_now() < running->deadline);
	return accesses;
}

int session_ahead(struct session *session, struct thread *thread,
		  struct decoded *from, struct cpu *cpu,
		  struct ahead_result *changed)
{
	struct running running = {
		.session = session,
		.thread = thread,
		.cpu = cpu,
		.host = { &running, session->windows, code, on_access, vector },
	};
	struct ahead_result before = *changed;
	struct user_regs_struct regs = cpu->regs;
	uint64_t accesses;
	int r = 0;

	if (!is_wanted(session, thread, from) || is_over(&running))
		return 0;
	if (session->family->ahead_of != session)
		ahead_forget(session->ahead);
	session->family->ahead_of = session;
	session->windows->context = &running;
	session->windows->load = load;
	session->windows->store = store;
	session->windows->stored = stored;
	running.deadline = session_now() + SPELL_NS;
	stack_still(session, true);
	accesses = run(&running, cpu, changed);
	stack_still(session, false);

	from->vain = accesses ? 0 : min_u64(from->vain + 1, VAIN);
	if (accesses || before.vector) {
		r = window_flush(session->windows);
	} else {
		/* The thread can do as much itself, and cheaper. */
		cpu->regs = regs;
		*changed = before;
	}
	window_clear(session->windows);
	return r;
}
