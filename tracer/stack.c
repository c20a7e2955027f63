/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/ahead.h"

static void forget_names(struct session *session)
{
	frame_names_forget(session);
	stack_texts_forget(&session->stacks);
}

void stack_forget(struct session *session)
{
	forget_names(session);
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
	free(stacks->copy.bytes);
	free(stacks->managed);
	jitmap_done(&stacks->jitmap);
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
	to->stacks.unread += from->stacks.unread;
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
		.reads = stats.reads - stacks->unread,
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

/* Its runtime may have come or gone. */
static void update_code(struct session *session)
{
	struct stacks *stacks = &session->stacks;
	struct code code = { 0 };

	if (session_refresh(session) < 0 ||
	    !resolver_code(session->resolver, &code))
		code = (struct code){ 0 };
	if (code.start == stacks->code.start && code.end == stacks->code.end &&
	    code.context == stacks->code.context)
		return;
	stacks->code = code;
	unwinder_made(stacks->unwinder, &code);
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
		   const struct memory *memory, size_t max,
		   const struct frame *warm, size_t count, int end)
{
	struct stacks *stacks = &session->stacks;
	struct frame cold[EVENT_FRAMES];
	size_t n;
	bool same;

	same = unwinder_walk(stacks->unwinder, regs, memory, cold, max, &n) ==
		       end &&
	       n == count;
	for (size_t i = 0; same && i < n; i++)
		same = cold[i].ip == warm[i].ip && cold[i].cfa == warm[i].cfa;
	stacks->differs = !same;
}

void stack_told(struct session *session, uint64_t ip)
{
	struct stacks *stacks = &session->stacks;

	if (!stacks->differs)
		return;
	stacks->differs = false;
	if (!stacks->mismatches++)
		report_warning(
			session,
			"the stack at 0x%jx is not what libunwind makes of it",
			(uintmax_t)ip);
}

bool stack_is_last(const struct session *session,
		   const struct user_regs_struct *regs)
{
	const struct stacks *stacks = &session->stacks;

	return stacks->last.text && !stacks->jitmap.wanted &&
	       unwinder_holds(stacks->unwinder, stacks->last.slots, regs);
}

/* What was walked since @before is none of the stacks that are told. */
static void take_back(struct stacks *stacks,
		      const struct unwinder_stats *before)
{
	struct unwinder_stats now;

	unwinder_stats(stacks->unwinder, &now);
	stacks->others.stacks -= now.stacks - before->stacks;
	stacks->others.fresh -= now.fresh - before->fresh;
	stacks->others.reused -= now.reused - before->reused;
	stacks->others.declined -= now.declined - before->declined;
	stacks->others.reads -= now.reads - before->reads;
}

size_t stack_first_frames(struct session *session,
			  const struct user_regs_struct *regs,
			  struct frame *frames, size_t max)
{
	struct memory memory = { .context = session, .read = stack_copy_read };
	struct stacks *stacks = &session->stacks;
	const bool missed = stacks->copy.missed;
	const uint64_t unread = stacks->unread;
	struct unwinder_stats before;
	size_t count = 0, fresh;

	if (update_modules(session) < 0)
		return 0;
	if (max == 1 &&
	    unwinder_innermost(stacks->unwinder, regs, &memory, frames))
		return 1;
	unwinder_stats(stacks->unwinder, &before);
	stacks->copy.sp = regs->rsp;
	if (unwinder_walk_warm(stacks->unwinder, NULL, regs, &memory, frames,
			       max, &count, &fresh) < 0)
		count = 0;
	stacks->copy.missed = missed;
	stacks->unread = unread;
	take_back(stacks, &before);
	return count;
}

static int walk(struct session *session, struct slots *slots,
		const struct user_regs_struct *regs,
		const struct memory *memory, struct frame frames[EVENT_FRAMES],
		size_t *count)
{
	size_t max = min_u64(session->options->depth, EVENT_FRAMES);
	struct stacks *stacks = &session->stacks;
	uint64_t begin = session_now();
	size_t fresh;
	int r;

	stacks->copy.sp = regs->rsp;
	stacks->copy.missed = false;
	r = unwinder_walk_warm(stacks->unwinder, slots, regs, memory, frames,
			       max, count, &fresh);
	stacks->last.slots =
		stacks->copy.still && !stacks->copy.missed ? slots : NULL;
	stacks->last.frames = *count;
	stacks->ns += session_now() - begin;
	return r;
}

static int prepare(struct session *session)
{
	int r = process_remap(session->process);

	session->stacks.last.slots = NULL;
	session->stacks.last.text = NULL;
	if (r == 0)
		r = update_modules(session);
	update_code(session);
	if (session->stacks.jitmap.wanted &&
	    jitmap_update(&session->stacks.jitmap, session->process->pid,
			  session_now()))
		forget_names(session);
	return r;
}

const char *stack_end_name(int end)
{
	return end == UNWINDER_END_TRUNCATED ? "truncated"
	       : end == UNWINDER_END_BOTTOM  ? NULL
					     : "broken";
}

static size_t frames_of(struct session *session, struct slots *slots,
			const struct user_regs_struct *regs,
			const struct memory *memory, const struct memory *all,
			struct frame frames[EVENT_FRAMES], const char **end)
{
	size_t max = min_u64(session->options->depth, EVENT_FRAMES);
	size_t count = 0;
	int r = walk(session, slots, regs, memory, frames, &count);

	if (session->options->verify_stacks)
		verify(session, regs, all, max, frames, count, r);
	*end = stack_end_name(r);
	return count;
}

size_t stack_frames(struct session *session, const struct thread *thread,
		    const struct user_regs_struct *regs,
		    struct frame frames[EVENT_FRAMES], const char **end)
{
	struct memory memory = { .context = session, .read = stack_copy_read };
	struct memory all = session_memory(session);
	size_t count;

	*end = "broken";
	stack_managed_forget(session);
	if (prepare(session) < 0)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		count = frames_of(session, slots_of(session, thread), regs,
				  &memory, &all, frames, end);
		if (stack_managed(session, thread->tid, regs, &all, false,
				  frames, &count, end))
			break;
		unwinder_made(session->stacks.unwinder, &session->stacks.code);
	}
	return count;
}

size_t stack_popped(struct session *session,
		    const struct user_regs_struct *regs,
		    const struct memory *memory,
		    struct unwinder_word ret[UNWINDER_POPPED])
{
	int r = prepare(session);

	if (r == 0)
		r = unwinder_popped(session->stacks.unwinder, regs, memory,
				    ret);
	return r < 0 ? 0 : (size_t)r;
}

size_t stack_frames_past(struct session *session,
			 const struct user_regs_struct *regs,
			 const struct memory *memory,
			 struct frame frames[EVENT_FRAMES], const char **end)
{
	size_t count = 0;

	*end = "broken";
	stack_managed_forget(session);
	if (prepare(session) < 0)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		count = frames_of(session, NULL, regs, memory, memory, frames,
				  end);
		if (stack_managed(session, 0, regs, memory, true, frames,
				  &count, end))
			break;
		unwinder_made(session->stacks.unwinder, &session->stacks.code);
	}
	return count;
}
