/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "disasm/registers.h"
#include "tracer/growth.h"
#include "tracer/mend.h"
#include "tracer/process/inject.h"
#include "tracer/process/mem.h"
#include "tracer/sigframe.h"

enum {
	RED_ZONE = 128,
	CONTEXT = 8, /* struct ucontext, behind the return address */
	SP = CONTEXT + 160,
	FLAGS = CONTEXT + 176,
	FLOATS = CONTEXT + 224, /* address of the floating point state */
	LEAST = FLOATS + 8,
};

struct moving {
	struct session *session;
	struct thread *thread;
	struct room room;
	uint64_t top;	/* stack pointer, in the room */
	uint64_t apart; /* what the true one is above that */
	uint64_t flags; /* the true ones */
	uint64_t mask;	/* before the handler's */
	siginfo_t info;
	uint8_t bytes[SIGFRAME];
};

bool sigframe_wanted(const struct session *session,
		     const struct user_regs_struct *regs)
{
	const struct range *range;
	uint64_t start = regs->rsp - SIGFRAME;

	/* A frame ends below the stack pointer. */
	if (growth_below(session, regs->rsp - 1))
		return true;
	while ((range = ranges_overlap(&session->guard.closed, start,
				       regs->rsp))) {
		uint64_t at = max_u64(range->start, start);
		uint64_t end = min_u64(range->end, regs->rsp);

		for (; at < end; at = page_down(at) + PAGE)
			if (!ranges_find(&session->watch.named, at))
				return false;
		if (end == regs->rsp)
			return true;
		start = end;
	}
	return start > regs->rsp - SIGFRAME;
}

/* Between the parts of a frame the stack stays as it is. */
static int prepare(struct moving *f, uint64_t sp)
{
	int mem = f->session->process->mem;
	uint64_t start = max_u64(sp - SIGFRAME, f->session->watch.low);

	if (start >= sp ||
	    mem_read(mem, start, f->bytes, (size_t)(sp - start)) < 0)
		return 0;
	return mem_write(mem, start - f->apart, f->bytes, (size_t)(sp - start));
}

static bool in_room(const struct moving *f, uint64_t addr)
{
	return addr >= f->room.addr && addr <= f->top - RED_ZONE - LEAST;
}

/*
 * The kernel takes TF for the program's if the step that raised this signal
 * was one of popf that cleared it.
 */
static int mend_flags(const struct moving *f, uint64_t frame)
{
	int mem = f->session->process->mem, r;
	uint64_t flags;

	r = mem_read(mem, frame + FLAGS, &flags, sizeof(flags));
	flags = (flags & ~(uint64_t)FLAG_TF) | (f->flags & FLAG_TF);
	return r < 0 ? r : mem_write(mem, frame + FLAGS, &flags, sizeof(flags));
}

/* On the alternate stack, say: only what it saved is not true. */
static int mend_elsewhere(const struct moving *f, uint64_t frame)
{
	uint64_t sp = f->top + f->apart;

	return mem_write(f->session->process->mem, frame + SP, &sp, sizeof(sp));
}

static void move_pointer(const struct moving *f, void *at)
{
	uint64_t pointer;

	memcpy(&pointer, at, sizeof(pointer));
	if (!pointer)
		return;
	pointer += f->apart;
	memcpy(at, &pointer, sizeof(pointer));
}

/* -EFAULT: there is no stack for it. */
static int move(struct moving *f, struct user_regs_struct *regs)
{
	int mem = f->session->process->mem;
	size_t size = (size_t)(f->top - RED_ZONE - regs->rsp);
	int r = mem_read(mem, regs->rsp, f->bytes, size);

	if (r < 0)
		return r;
	move_pointer(f, f->bytes + SP);
	move_pointer(f, f->bytes + FLOATS);
	regs->rsp += f->apart;
	regs->rsi += f->apart; /* siginfo */
	regs->rdx += f->apart; /* ucontext */
	r = growth_exceeds(f->session, regs->rsp)
		    ? -EFAULT
		    : growth_reach(f->session, f->thread, regs->rsp);
	if (r == 0)
		r = mem_write(mem, regs->rsp, f->bytes, size);
	shadow_forget(f->session, regs->rsp, regs->rsp + size);
	return r == 0 ? trace_set_regs(f->thread->tid, regs) : r;
}

/*
 * As if it had not been delivered: the signal is queued again, and the kernel
 * is to find out that there is no stack, and what to do then.
 */
static int take_back(struct moving *f, int signal,
		     const struct user_regs_struct *regs)
{
	struct thread *thread = f->thread;
	const struct disposition *d =
		&thread->process->dispositions.signal[signal];
	struct injection injection;
	int r = trace_set_regs(thread->tid, regs);

	if (r == 0)
		r = trace_set_mask(thread->tid, f->mask);
	if (r == 0)
		r = inject_begin(&injection, thread);
	if (r < 0)
		return r;
	if (d->flags & SA_RESETHAND)
		r = inject_disposition(&injection, signal, d);
	if (r == 0)
		r = inject_signal(&injection, &f->info);
	thread->owed = signal;
	thread->stackless = true;
	r = first_error(r, inject_end(&injection));
	return r < 0 ? r : SIGFRAME_TAKEN_BACK;
}

static int deliver(struct moving *f, int signal,
		   const struct user_regs_struct *regs)
{
	struct user_regs_struct now = *regs;
	struct thread *thread = f->thread;
	int r = prepare(f, regs->rsp);

	now.rsp = f->top;
	if (r == 0)
		r = trace_get_mask(thread->tid, &f->mask);
	if (r == 0)
		r = trace_get_siginfo(thread->tid, &f->info);
	if (r == 0)
		r = trace_set_regs(thread->tid, &now);
	if (r == 0)
		r = mend_deliver(f->session, thread, signal);
	if (r != 0)
		return r;
	r = trace_get_regs(thread->tid, &now);
	if (r == 0)
		r = mend_flags(f, now.rsp);
	if (r < 0)
		return r;
	if (!in_room(f, now.rsp))
		return mend_elsewhere(f, now.rsp);
	r = move(f, &now);
	return r == -EFAULT ? take_back(f, signal, regs) : r;
}

/* The stack may end above the frame. */
static uint64_t read_frame(struct session *session, uint64_t start,
			   uint8_t bytes[SIGFRAME])
{
	const struct mapping *m = maps_find(session->process->maps, start);
	uint64_t end = start;

	for (; m && m->start <= end && end < start + SIGFRAME; m++) {
		end = min_u64(m->end, start + SIGFRAME);
		if (m == session->process->maps->mapping +
				 session->process->maps->count - 1)
			break;
	}
	return end > start && mem_read(session->process->mem, start, bytes,
				       (size_t)(end - start)) == 0
		       ? end - start
		       : 0;
}

int sigframe_return(struct session *session, struct thread *thread,
		    const struct call *call)
{
	_cleanup_(freep) uint8_t *bytes = malloc(SIGFRAME);
	struct inflight *inflight = call_inflight(thread, call);
	struct user_regs_struct regs;
	uint64_t start, at, size, floats;
	int r = bytes && inflight ? process_remap(session->process) : -ENOMEM;

	if (r == 0)
		r = trace_get_regs(thread->tid, &regs);
	if (r < 0)
		return r;
	start = regs.rsp - CONTEXT;
	size = read_frame(session, start, bytes);
	if (size < LEAST)
		return -ENOSPC;
	r = room_take_slots(&session->rooms, &session->process->scratch,
			    SIGFRAME + PAGE, &inflight->room);
	if (r < 0)
		return r;
	at = inflight->room.addr + start % PAGE;
	memcpy(&floats, bytes + FLOATS, sizeof(floats));
	if (floats - start < size) {
		floats += at - start;
		memcpy(bytes + FLOATS, &floats, sizeof(floats));
	}
	r = mem_write(session->process->mem, at, bytes, (size_t)size);
	regs.rsp = at + CONTEXT;
	report_unseen(session, "frames of signal handlers on watched stacks");
	return r == 0 ? trace_set_regs(thread->tid, &regs) : r;
}

int sigframe_deliver(struct session *session, struct thread *thread, int signal,
		     const struct user_regs_struct *regs)
{
	struct moving *f = calloc(1, sizeof(*f));
	int r = f ? room_take_slots(&session->rooms, &session->process->scratch,
				    SIGFRAME + PAGE, &f->room)
		  : -ENOMEM;

	if (r < 0) {
		free(f);
		return r;
	}
	f->session = session;
	f->thread = thread;
	/* As far from a page's start, for the kernel aligns what it writes. */
	f->top = f->room.addr + SIGFRAME + regs->rsp % PAGE;
	f->apart = regs->rsp - f->top;
	f->flags = regs->eflags;
	r = deliver(f, signal, regs);
	report_unseen(session, "frames of signal handlers on watched stacks");
	r = first_error(r, room_give(&session->rooms, thread, &f->room));
	free(f);
	return r;
}
