/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/event/record.h"
#include "tracer/family.h"
#include "tracer/stack_place.h"
#include "tracer/tally.h"

static bool wanted(const struct session *session, uint8_t op)
{
	return op & session->options->on;
}

static void make_query(const struct effect_report *report, struct query *query,
		       uint64_t registers[16])
{
	const struct user_regs_struct *r = report->regs;
	const struct access *access = &report->effect->access;

	*query = (struct query){
		.addr = access->addr,
		.size = access->size,
		.write = access->op & ACCESS_WRITE,
		.ip = report->ip,
	};
	if (!r)
		return;
	query->sp = r->rsp;
	query->fs_base = r->fs_base;
	if (report->insn)
		query->ncandidates =
			access_candidates(report->insn, r, query->candidates);
	memcpy(registers,
	       (uint64_t[16]){ r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
			       r->rsi, r->rdi, r->r8, r->r9, r->r10, r->r11,
			       r->r12, r->r13, r->r14, r->r15 },
	       16 * sizeof(registers[0]));
	query->registers = registers;
}

static struct event_component describe(const struct component *component,
				       uint64_t addr)
{
	return (struct event_component){
		.kind = component->kind,
		.runtime = component->runtime,
		.name = component->name,
		.member = component->member,
		.how = component->how,
		.confidence = confidence_name(component->confidence),
		.start = component->start,
		.size = component->size,
		.offset = addr - component->start,
	};
}

static void add_stack(struct session *session, const struct thread *thread,
		      const struct user_regs_struct *regs,
		      struct event_access *event)
{
	struct frame frames[EVENT_FRAMES];
	const char *end;
	size_t count;

	if (stack_tell_last(session, thread->tgid, regs, &event->stack,
			    &event->stack_text))
		return;
	count = stack_frames(session, thread, regs, frames, &end);
	stack_tell(session, thread->tgid, frames, count, end, &event->stack,
		   &event->stack_text);
}

static void write_event(struct session *session, struct thread *thread,
			const struct effect_report *report,
			const struct component *component)
{
	const struct effect *effect = report->effect;
	struct event_access event = {
		.seq = ++session->log->seq,
		.insn_seq = session->log->insns,
		.time = report_time(),
		/* Of a call that reaches into another process the latter. */
		.pid = thread->process == session->process
			       ? thread->tgid
			       : session->process->pid,
		.tid = thread->tid,
		.comm = thread_comm(thread),
		.op = (enum event_op)effect->access.op,
		.addr = effect->access.addr,
		.size = effect->access.size,
		.count = effect->access.count,
		.ip = report->ip,
		.how = report->how,
		.shown = effect->shown,
		.old = effect->old,
		.new = effect->new,
		.syscall = report->syscall,
		.component = describe(component, effect->access.addr),
		.bytes = report->bytes,
		.nbytes = report->nbytes,
	};

	if (report->insn)
		event.insn =
			insn_text(session->names, report->insn, report->ip);
	if (session->options->stacks && report->regs)
		add_stack(session, thread, report->regs, &event);
	session->counts.events++;
	session->family->events++;
	record_access(&session->log->buffer, &event, &session->log->memo);
	log_line(session->log);
}

/* Each call once, whatever the number of its buffers. */
static bool is_hidden(struct session *session, struct thread *thread,
		      const struct effect_report *report)
{
	if (!report->syscall || !session->options->no_syscalls)
		return false;
	if (!thread->call_hidden)
		report_unseen(session,
			      "--no-syscalls: calls with buffers in watched "
			      "memory");
	thread->call_hidden = true;
	return true;
}

static bool is_of_class(const struct watch *watch, int spec)
{
	return (size_t)spec < watch->nspecs &&
	       watch->spec[spec].kind == SPEC_CLASS;
}

bool report_access(struct session *session, struct thread *thread,
		   const struct effect_report *report)
{
	const struct access *access = &report->effect->access;
	int spec = watch_hit(&session->watch, access->addr, access->size);
	struct component component;
	struct stack_asker asker = { .session = session, .regs = report->regs };
	uint64_t registers[16];
	struct query query;

	/* The other operand may lie in memory that is not guarded. */
	if (!ranges_overlap(&session->guard.pages, access->addr,
			    access->addr + max_u64(access->size, 1)))
		return false;
	shadow_access(session, report->effect, report->syscall);
	if (spec < 0) {
		session->counts.neighbours++;
		return false;
	}
	if (!wanted(session, access->op) || family_is_full(session->family))
		return false;
	/* Only of a class must it be known what lies there. */
	if (!is_of_class(&session->watch, spec) &&
	    is_hidden(session, thread, report))
		return false;
	if (session->log->gone || session->log->number) {
		session->counts.lost++;
		return false;
	}
	if (session_refresh(session) < 0)
		return false; /* the process is gone */
	make_query(report, &query, registers);
	if (report->regs) {
		query.place = stack_place;
		query.context = &asker;
	}
	resolver_resolve(session->resolver, &query, &component);
	if (!watch_wants(&session->watch, spec, session->resolver, &component,
			 access->addr, access->size)) {
		session->counts.neighbours++;
		return false;
	}
	if (is_hidden(session, thread, report))
		return false;
	report_runtimes(session);
	write_event(session, thread, report, &component);
	session->counts.kernel += report->syscall != NULL;
	session->slice_events++;
	tally_access(session, &component, access->op);
	return true;
}
