/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tracer/ahead.h"
#include "tracer/event/record.h"
#include "tracer/family.h"
#include "tracer/process/perf.h"
#include "tracer/process/ptrace.h"
#include "tracer/sample.h"

/*
 * Calls that go on as if nothing had been after an interrupt; others may have
 * moved a part of their data, which they return then.
 */
static const short goes_on[] = {
	SYS_poll,   SYS_select,		 SYS_pause,  SYS_nanosleep,
	SYS_wait4,  SYS_rt_sigsuspend,	 SYS_futex,  SYS_restart_syscall,
	SYS_waitid, SYS_clock_nanosleep, SYS_ppoll,  SYS_pselect6,
	SYS_read,   SYS_epoll_wait,	 SYS_accept, SYS_accept4,
	SYS_flock,  SYS_epoll_pwait,
};

static bool may_be_interrupted(const struct thread *thread)
{
	struct perf_sleep sleep;

	if (perf_asleep(thread->perf, &sleep) != -ENODATA)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(goes_on); i++)
		if (sleep.call == goes_on[i])
			return true;
	return false;
}

/*
 * The kernel's memory for it cannot be swapped.  Where there is enough, a
 * third of a second at 99 Hz: so long it may take to read about a library.
 */
static size_t room(const struct session *session)
{
	size_t threads = session->process->threads.count;

	return threads <= 16 ? 8 * PERF_ROOM : PERF_ROOM;
}

/*
 * What slept before we came left no registers: once, it is made to go to
 * sleep anew.
 */
static void begin(struct session *session, struct thread *thread)
{
	double hz = session->options->stack_hz;
	int r;

	if (thread->perf || thread->perf_failed)
		return;
	r = perf_new(thread->tid, hz, room(session), &thread->perf);
	thread->perf_failed = r < 0;
	if (r < 0 && r != -ESRCH && r != -ENOENT && !session->unsampled_told) {
		session->unsampled_told = true;
		report_warning(session,
			       "thread %d, and others maybe, are not sampled: "
			       "%s",
			       thread->tid, strerror(-r));
	}
	/* What it mapped before that nobody told. */
	session->process->maps_stale |= thread->perf != NULL;
	if (thread->perf && !family_why(session) && may_be_interrupted(thread))
		thread->woken = thread_interrupt(thread) == 0;
}

static void write_sample(struct session *session, struct thread *thread,
			 struct event_sample *event, const struct frame *frames,
			 size_t count, const char *end)
{
	if (session->log->gone || session->log->number ||
	    family_is_full(session->family))
		return;
	if (!session->log->began)
		report_header(session);
	event->pid = thread->tgid;
	event->tid = thread->tid;
	event->comm = thread_comm(thread);
	stack_tell(session, thread->tgid, frames, count, end, &event->stack,
		   &event->stack_text);
	record_sample(&session->log->buffer, event);
	log_line(session->log);
	session->counts.samples++;
	session->family->events++;
}

/* The memory of a thread as it was: of its stack what the sample has. */
struct past {
	struct session *session;
	const struct perf_sample *sample;
	bool missed; /* what was asked for last was not kept */
	struct unwinder_word popped[UNWINDER_POPPED];
	size_t npopped;
};

/* Does it stay as it is, so that it can be read later? */
static bool is_constant(const struct session *session, uint64_t addr)
{
	const struct mapping *m = maps_find(session->process->maps, addr);

	return m && (m->prot & PROT_EXEC || !(m->prot & PROT_WRITE));
}

/* Of what is below the stack pointer only that is known; else: zeros. */
static void put_popped(const struct past *past, uint64_t addr, char *buffer,
		       size_t size)
{
	for (size_t i = 0; i < past->npopped; i++) {
		const struct unwinder_word *word = &past->popped[i];
		uint64_t at = word->addr - addr;

		if (at < size && size - at >= sizeof(word->value))
			memcpy(buffer + at, &word->value, sizeof(word->value));
	}
}

static int read_kept(const struct past *past, uint64_t addr, void *buffer,
		     size_t size)
{
	const struct perf_sample *sample = past->sample;
	struct memory memory = session_memory(past->session);
	uint64_t sp = sample->regs.rsp;
	size_t below = addr < sp ? (size_t)min_u64(sp - addr, size) : 0;

	if (addr - sp > sample->size && sp - addr > PAGE)
		return is_constant(past->session, addr)
			       ? memory_read(&memory, addr, buffer, size)
			       : -EFAULT;
	if (size > below && size - below > sample->size - (addr + below - sp))
		return -EFAULT;
	memset(buffer, 0, below);
	put_popped(past, addr, buffer, below);
	addr += below;
	memcpy((char *)buffer + below, sample->stack + (addr - sp),
	       size - below);
	return 0;
}

static bool is_mapped(const struct session *session, uint64_t addr)
{
	return session->process->maps &&
	       maps_find(session->process->maps, addr);
}

static int read_past(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct past *past = context;
	int r = read_kept(past, addr, buffer, size);

	past->missed = r < 0 && is_mapped(past->session, addr);
	return r;
}

static void note_map(struct session *session, struct thread *thread,
		     uint64_t ip)
{
	if (perf_mapped(thread->perf) || !is_mapped(session, ip))
		session->process->maps_stale = true;
}

/*
 * Its memory may be gone, or another program's, as that of a thread that
 * another one's exec ended: then its map must not be read anew.
 */
static bool is_as_known(const struct session *session, struct thread *thread,
			uint64_t ip)
{
	session->process->maps_stale |= perf_mapped(thread->perf);
	return !session->process->maps_stale && is_mapped(session, ip);
}

static bool is_ours(const struct session *session, uint64_t ip)
{
	const struct scratch *scratch = &session->process->scratch;

	return ip - scratch->start < scratch->size;
}

/* @late: it has ended, or exec'ed. */
static void take_running(struct session *session, struct thread *thread,
			 const struct perf_sample *sample, bool late)
{
	struct past past = { .session = session, .sample = sample };
	struct memory memory = { .context = &past, .read = read_past };
	struct event_sample event = { .time = sample->time,
				      .state = "running" };
	struct frame frames[EVENT_FRAMES];
	const char *end;
	size_t count;

	if (is_ours(session, sample->regs.rip) ||
	    (late && !is_as_known(session, thread, sample->regs.rip))) {
		session->counts.unsampled++;
		return;
	}
	note_map(session, thread, sample->regs.rip);
	/* It runs: what was read of it before is old. */
	if (session->resolver)
		resolver_epoch(session->resolver);
	past.npopped =
		stack_popped(session, &sample->regs, &memory, past.popped);
	count = stack_frames_past(session, &sample->regs, &memory, frames,
				  &end);
	/* Of a deep stack the rest, or the one before an alternate one. */
	if (end && past.missed)
		end = "truncated";
	if (late && end)
		session->counts.unsampled++;
	else
		write_sample(session, thread, &event, frames, count, end);
}

static void take_all(struct session *session, struct thread *thread, bool late)
{
	struct perf_sample sample;

	while (perf_next(thread->perf, &sample) > 0)
		take_running(session, thread, &sample, late);
	session->counts.unsampled += perf_lost(thread->perf);
}

void sample_last(struct session *session, struct thread *thread)
{
	if (thread->perf && !session_is_over(session))
		take_all(session, thread, true);
}

/* It has slept all the while, if it was never woken. */
static bool sleeps_yet(const struct thread *thread, uint64_t turn)
{
	struct perf_sleep now;

	return perf_asleep(thread->perf, &now) > 0 && now.turn == turn;
}

static void take_sleeping(struct session *session, struct thread *thread)
{
	struct event_sample event = { .time = report_time(),
				      .state = "sleeping" };
	struct frame frames[EVENT_FRAMES];
	struct perf_sleep sleep;
	const char *end;
	size_t count;
	int r = perf_asleep(thread->perf, &sleep);

	/* A stop of ours that is to come looks like sleep, and ^Z does. */
	if (r == 0 || ((!session->unwatching || thread->grouped) &&
		       !thread_is_in_state(thread->tid, "SD")))
		return;
	if (r < 0) {
		session->counts.unsampled++;
		return;
	}
	note_map(session, thread, sleep.regs.rip);
	/* It is not stopped: what was read of it before is old. */
	if (session->resolver)
		resolver_epoch(session->resolver);
	count = stack_frames(session, thread, &sleep.regs, frames, &end);
	if (sleeps_yet(thread, sleep.turn))
		write_sample(session, thread, &event, frames, count, end);
	else
		session->counts.unsampled++;
}

static void look(struct session *session, struct thread *thread, bool due)
{
	if (thread->ended)
		return;
	begin(session, thread);
	if (!thread->perf) {
		session->counts.unsampled += due;
		return;
	}
	take_all(session, thread, false);
	session->process->maps_stale |= perf_mapped(thread->perf);
	if (due && thread->state == THREAD_RUNNING)
		take_sleeping(session, thread);
}

/*
 * When to look again.  Half of the time at least is for the program's stops;
 * of many threads rounds are left out for that.
 */
static void plan(struct session *session, uint64_t began)
{
	uint64_t period = perf_period(session->options->stack_hz);
	uint64_t now = session_now(), first = now + (now - began);

	if (!session->sample_ns)
		session->sample_ns = began;
	session->sample_ns += period;
	while (session->sample_ns < first) {
		session->sample_ns += period;
		session->counts.unsampled += session->process->threads.count;
	}
}

void sample_tick(struct session *session)
{
	uint64_t now = session_now();
	bool due = now >= session->sample_ns;

	if (session->options->stack_hz <= 0 || session_is_over(session) ||
	    session->phase == PHASE_STARTING)
		return;
	table_for_each(&session->process->threads, s)
		look(session, s->value, due);
	if (due)
		plan(session, now);
}
