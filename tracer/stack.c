/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/ahead.h"
#include "tracer/event/record.h"

static void forget_numbers(struct stacks *stacks)
{
	table_for_each(&stacks->ids, s) free(s->value);
	table_done(&stacks->ids);
}

void stack_forget(struct session *session)
{
	frame_names_forget(session);
	forget_numbers(&session->stacks);
	session->stacks.known = false;
}

void stack_drop(struct session *session, const struct thread *thread)
{
	struct table *table = &session->stacks.slots;

	slots_free(table_get(table, (uint64_t)thread->tid));
	table_remove(table, (uint64_t)thread->tid);
}

void stack_done(struct session *session)
{
	struct stacks *stacks = &session->stacks;

	stack_forget(session);
	table_for_each(&stacks->slots, s) slots_free(s->value);
	table_done(&stacks->slots);
	unwinder_free(stacks->unwinder);
}

static void add_stats(struct unwinder_stats *to,
		      const struct unwinder_stats *more)
{
	to->stacks += more->stacks;
	to->fresh += more->fresh;
	to->reused += more->reused;
	to->declined += more->declined;
	to->reads += more->reads;
	to->rules += more->rules;
}

static struct unwinder_stats all_stats(const struct stacks *stacks)
{
	struct unwinder_stats stats;

	unwinder_stats(stacks->unwinder, &stats);
	add_stats(&stats, &stacks->others);
	return stats;
}

void stack_merge(struct session *to, const struct session *from)
{
	const struct unwinder_stats more = all_stats(&from->stacks);

	add_stats(&to->stacks.others, &more);
	to->stacks.ns += from->stacks.ns;
	to->stacks.mismatches += from->stacks.mismatches;
}

bool stack_summary(const struct session *session, struct event_stacks *ret)
{
	const struct stacks *stacks = &session->stacks;
	struct unwinder_stats stats = all_stats(stacks);

	*ret = (struct event_stacks){
		.walked = stats.stacks,
		.fresh = stats.fresh,
		.reused = stats.reused,
		.by_libunwind = stats.declined,
		.rules = stats.rules,
		.reads = stats.reads,
		.verify = session->options->verify_stacks,
		.mismatches = stacks->mismatches,
	};
	if (stats.stacks)
		ret->mean = (double)stacks->ns / 1e9 / (double)stats.stacks;
	return stats.stacks > 0;
}

static int update_modules(struct session *session)
{
	struct symbols *symbols = session->process->symbols;
	unsigned generation = symbols_generation(symbols);
	const struct module *const *module;
	size_t count = symbols_modules(symbols, &module);
	struct unwinder_module *table;
	int r;

	if (session->stacks.known && session->stacks.generation == generation)
		return 0;
	stack_forget(session);
	table = calloc(count + 1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		table[i] = (struct unwinder_module){
			.start = module[i]->start,
			.end = module[i]->end,
			.text_start = module[i]->text_start,
			.text_end = module[i]->text_end,
			.eh_frame_hdr = module[i]->eh_frame_hdr,
			.eh_frame_hdr_size = module[i]->eh_frame_hdr_size,
		};
	r = unwinder_modules(session->stacks.unwinder, table, count);
	free(table);
	session->stacks.generation = generation;
	session->stacks.known = r == 0;
	return r;
}

/* NULL: without memory it is walked as if nothing were known. */
static struct slots *slots_of(struct session *session,
			      const struct thread *thread)
{
	struct table *table = &session->stacks.slots;
	struct slots *slots = table_get(table, (uint64_t)thread->tid);

	if (slots)
		return slots;
	if (slots_new(&slots) < 0)
		return NULL;
	if (table_put(table, (uint64_t)thread->tid, slots) == 0)
		return slots;
	slots_free(slots);
	return NULL;
}

static void verify(struct session *session, const struct user_regs_struct *regs,
		   size_t max, const struct frame *warm, size_t count, int end)
{
	struct memory memory = session_memory(session);
	struct stacks *stacks = &session->stacks;
	struct frame cold[EVENT_FRAMES];
	size_t n;
	bool same;

	same = unwinder_walk(stacks->unwinder, regs, &memory, cold, max, &n) ==
		       end &&
	       n == count;
	for (size_t i = 0; same && i < n; i++)
		same = cold[i].ip == warm[i].ip && cold[i].cfa == warm[i].cfa;
	if (same || stacks->mismatches++)
		return;
	report_warning(session,
		       "the stack at 0x%jx is not what libunwind makes of it",
		       (uintmax_t)regs->rip);
}

static int walk(struct session *session, const struct thread *thread,
		const struct user_regs_struct *regs,
		struct frame frames[EVENT_FRAMES], size_t *count)
{
	size_t max = min_u64(session->options->depth, EVENT_FRAMES);
	struct memory memory = session_memory(session);
	uint64_t begin = session_now();
	size_t fresh;
	int r = unwinder_walk_warm(session->stacks.unwinder,
				   slots_of(session, thread), regs, &memory,
				   frames, max, count, &fresh);

	session->stacks.ns += session_now() - begin;
	if (session->options->verify_stacks)
		verify(session, regs, max, frames, *count, r);
	return r;
}

/* The addresses of a stack, and why it ends. */
static size_t find_frames(struct session *session, const struct thread *thread,
			  const struct user_regs_struct *regs,
			  struct frame frames[EVENT_FRAMES], const char **end)
{
	size_t count = 0;
	int r = process_remap(session->process);

	if (r == 0)
		r = update_modules(session);
	if (r == 0)
		r = walk(session, thread, regs, frames, &count);
	*end = r == UNWINDER_END_TRUNCATED ? "truncated"
	       : r == UNWINDER_END_BOTTOM  ? NULL
					   : "broken";
	return count;
}

unsigned stack_walk(struct session *session, struct thread *thread,
		    const struct user_regs_struct *regs,
		    struct event_frame frames[EVENT_FRAMES], const char **end)
{
	struct frame frame[EVENT_FRAMES];
	size_t count = find_frames(session, thread, regs, frame, end);
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += frame_names(session, frame[i].ip, i == 0, &frames[n],
				 EVENT_FRAMES - n);
	return (unsigned)n;
}

/* A stack that is in the log: only its addresses tell it from others. */
struct numbered_stack {
	uint64_t id;
	const char *end;
	size_t count;
	uint64_t ip[];
};

enum { NUMBERED_MAX = 1 << 15 };

static struct numbered_stack *number(struct session *session, uint64_t hash,
				     const uint64_t *ip, size_t count,
				     const char *end)
{
	struct table *ids = &session->stacks.ids;
	struct numbered_stack *numbered =
		malloc(sizeof(*numbered) + count * sizeof(*ip));

	if (!numbered)
		return NULL;
	if (ids->count >= NUMBERED_MAX)
		forget_numbers(&session->stacks);
	/* another one with this hash has to be written anew when it is back */
	free(table_get(ids, hash));
	table_remove(ids, hash);
	if (table_put(ids, hash, numbered) < 0) {
		free(numbered);
		return NULL;
	}
	numbered->id = ++session->log->stacks;
	numbered->end = end;
	numbered->count = count;
	memcpy(numbered->ip, ip, count * sizeof(*ip));
	return numbered;
}

static void write_stack(struct session *session, const struct thread *thread,
			const struct numbered_stack *numbered)
{
	struct event_frame frames[EVENT_FRAMES];
	struct event_stack stack = {
		.id = numbered->id,
		.pid = thread->tgid,
		.frames = frames,
		.end = numbered->end,
	};
	size_t n = 0;

	for (size_t i = 0; i < numbered->count; i++)
		n += frame_names(session, numbered->ip[i], i == 0, &frames[n],
				 EVENT_FRAMES - n);
	stack.nframes = (unsigned)n;
	record_stack(&session->log->buffer, &stack);
	log_line(session->log);
}

uint64_t stack_id(struct session *session, struct thread *thread,
		  const struct user_regs_struct *regs)
{
	struct numbered_stack *numbered;
	struct frame frame[EVENT_FRAMES];
	uint64_t ip[EVENT_FRAMES], hash;
	const char *end;
	size_t count = find_frames(session, thread, regs, frame, &end);

	for (size_t i = 0; i < count; i++)
		ip[i] = frame[i].ip;
	hash = table_hash(ip, count * sizeof(*ip));
	numbered = table_get(&session->stacks.ids, hash);
	if (numbered && numbered->count == count && numbered->end == end &&
	    !memcmp(numbered->ip, ip, count * sizeof(*ip)))
		return numbered->id;
	numbered = number(session, hash, ip, count, end);
	if (!numbered)
		return 0;
	write_stack(session, thread, numbered);
	return numbered->id;
}
