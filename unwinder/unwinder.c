/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "unwinder/chain.h"
#include "unwinder/made.h"
#include "unwinder/pointer.h"

struct unwinder {
	struct image image;
	struct cold *cold;
	struct rules *rules;
	struct chain chain;
	uint64_t generation;	     /* of the modules */
	const struct memory *memory; /* of a warm walk */
	struct unwinder_stats stats;
};

/* One walk. */
struct walk {
	struct unwinder *unwinder;
	struct cold_frame here;
	unsigned changes; /* of the stack, so far */
	bool by_pointer;  /* @here was found by a guess */
	bool innermost;
	bool interrupted; /* @here did not call, a signal came */
};

int unwinder_new(struct unwinder **ret)
{
	_cleanup_(unwinder_freep) struct unwinder *unwinder = NULL;
	int r;

	unwinder = calloc(1, sizeof(*unwinder));
	if (!unwinder)
		return -ENOMEM;
	r = image_init(&unwinder->image);
	if (r < 0)
		return r;
	r = cold_new(&unwinder->cold, &unwinder->image);
	if (r < 0)
		return r;
	r = rules_new(&unwinder->rules, unwinder->cold, &unwinder->image);
	if (r < 0)
		return r;
	unwinder->chain.image = &unwinder->image;
	unwinder->chain.rules = unwinder->rules;
	*ret = take(unwinder);
	return 0;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	chain_done(&unwinder->chain);
	rules_free(unwinder->rules);
	cold_free(unwinder->cold);
	image_done(&unwinder->image);
	free(unwinder);
}

int unwinder_modules(struct unwinder *unwinder,
		     const struct unwinder_module *modules, size_t count)
{
	rules_forget(unwinder->rules);
	unwinder->generation++;
	return image_modules(&unwinder->image, modules, count);
}

void unwinder_made(struct unwinder *unwinder, const struct code *code)
{
	rules_made(unwinder->rules, code);
	unwinder->generation++;
}

/* In code whose maker tells how: enum cold_step or -errno. */
static int step_made(struct walk *walk)
{
	struct unwinder *unwinder = walk->unwinder;
	const struct code *code = rules_code(unwinder->rules, walk->here.ip);
	struct caller caller = { 0 };
	struct state state;
	int r;

	if (!code ||
	    !code->caller(code->context, walk->here.ip,
			  !walk->innermost && !walk->interrupted, &caller))
		return COLD_NOTHING;
	cold_state(unwinder->cold, &state);
	r = made_step(&caller, &unwinder->image, &state);
	if (r < 0)
		return r == -EFAULT ? COLD_FAILED : r;
	r = cold_resume_state(unwinder->cold, &state);
	return r < 0 ? r : COLD_STEPPED;
}

/*
 * In code without unwind information, of a compiler at run time or of an
 * assembler.  enum cold_step or -errno.
 */
static int step_by_pointer(struct walk *walk)
{
	struct unwinder *unwinder = walk->unwinder;
	struct cold_frame caller;
	int r;

	/* the ABI marks the outermost frame so; but only code that keeps
	 * frame pointers means it by that */
	if (walk->by_pointer && walk->here.rbp == 0)
		return COLD_BOTTOM;
	r = walk->innermost
		    ? pointer_leaf_caller(&unwinder->image, &walk->here,
					  &caller)
		    : pointer_caller(&unwinder->image, &walk->here, &caller);
	if (r != 0)
		return r < 0 ? r : COLD_FAILED;
	r = cold_resume(unwinder->cold, &caller);
	if (r < 0)
		return r;
	walk->by_pointer = true;
	return COLD_STEPPED;
}

/* To the caller of walk->here: enum cold_step or -errno. */
static int step(struct walk *walk)
{
	struct cold *cold = walk->unwinder->cold;
	struct cold_frame before = walk->here;
	int r;

	r = cold_step(cold);
	if (r == COLD_NOTHING)
		r = step_made(walk);
	if (r == COLD_NOTHING)
		r = step_by_pointer(walk);
	else
		walk->by_pointer = false;
	if (r != COLD_STEPPED)
		return r;

	walk->interrupted =
		cold_is_sigreturn(&walk->unwinder->image, before.ip);
	cold_frame(cold, &walk->here);
	if (walk->here.sp > before.sp)
		return COLD_STEPPED;
	if (++walk->changes > CHAIN_STACK_CHANGES ||
	    (walk->here.sp == before.sp && walk->here.ip == before.ip))
		return COLD_FAILED;
	return COLD_STEPPED;
}

static int walk_frames(struct walk *walk, struct frame *frames, size_t max,
		       size_t *count)
{
	while (*count < max) {
		struct frame *frame = &frames[(*count)++];
		int r;

		walk->innermost = *count == 1;
		*frame = (struct frame){ .ip = walk->here.ip,
					 .guessed = walk->by_pointer };
		r = step(walk);
		if (r < 0)
			return r;
		if (r == COLD_BOTTOM)
			return UNWINDER_END_BOTTOM;
		if (r != COLD_STEPPED)
			return UNWINDER_END_BROKEN;
		frame->cfa = walk->here.sp;
		if (!walk->here.ip)
			return UNWINDER_END_BOTTOM;
	}
	return UNWINDER_END_TRUNCATED;
}

int unwinder_walk(struct unwinder *unwinder,
		  const struct user_regs_struct *regs,
		  const struct memory *memory, struct frame *frames, size_t max,
		  size_t *count)
{
	struct walk walk = {
		.unwinder = unwinder,
		.here = { regs->rip, regs->rsp, regs->rbp },
	};
	int r;

	*count = 0;
	image_begin(&unwinder->image, memory);
	r = cold_begin(unwinder->cold, regs, false);
	if (r < 0)
		return r;
	r = walk_frames(&walk, frames, min_u64(max, UNWINDER_DEPTH_MAX), count);
	if (r < 0)
		*count = 0;
	return r;
}

static int count_read(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct unwinder *unwinder = context;

	unwinder->stats.reads++;
	return memory_read(unwinder->memory, addr, buffer, size);
}

static int walk_warm(struct unwinder *unwinder, struct slots *slots,
		     const struct user_regs_struct *regs, struct frame *frames,
		     size_t max, size_t *count, size_t *fresh)
{
	const struct memory memory = { .context = unwinder,
				       .read = count_read };
	int r;

	if (slots && slots->generation != unwinder->generation) {
		slots_clear(slots);
		slots->generation = unwinder->generation;
	}
	image_begin(&unwinder->image, &memory);
	r = chain_walk(&unwinder->chain, slots, regs, frames, max, count,
		       fresh);
	if (r != CHAIN_DECLINED)
		return r;
	unwinder->stats.declined++;
	r = unwinder_walk(unwinder, regs, &memory, frames, max, count);
	*fresh = *count;
	return r;
}

int unwinder_walk_warm(struct unwinder *unwinder, struct slots *slots,
		       const struct user_regs_struct *regs,
		       const struct memory *memory, struct frame *frames,
		       size_t max, size_t *count, size_t *fresh)
{
	struct unwinder_stats *stats = &unwinder->stats;
	int r;

	*count = *fresh = 0;
	unwinder->memory = memory;
	r = walk_warm(unwinder, slots, regs, frames,
		      min_u64(max, UNWINDER_DEPTH_MAX), count, fresh);
	if (r < 0) {
		*count = *fresh = 0;
		return r;
	}
	stats->stacks++;
	stats->fresh += *fresh;
	stats->reused += *count - *fresh;
	return r;
}

bool unwinder_innermost(struct unwinder *unwinder,
			const struct user_regs_struct *regs,
			const struct memory *memory, struct frame *ret)
{
	const struct state state = chain_state(regs);
	const struct rule *rule = NULL;
	uint64_t cfa;

	image_begin(&unwinder->image, memory);
	if (rules_find(unwinder->rules, state.ip, false, &rule) < 0 ||
	    rule->kind != RULE_LINEAR || rule->is_loaded)
		return false;
	cfa = state.reg[rule->base] + (uint64_t)(int64_t)rule->cfa_offset;
	if (cfa % 8 || cfa <= state.reg[STATE_SP])
		return false;
	*ret = (struct frame){ .ip = state.ip, .cfa = cfa };
	return true;
}

bool unwinder_holds(const struct unwinder *unwinder, const struct slots *slots,
		    const struct user_regs_struct *regs)
{
	const struct state state = chain_state(regs);

	return slots->generation == unwinder->generation &&
	       slots_began(slots, &state);
}

int unwinder_popped(struct unwinder *unwinder,
		    const struct user_regs_struct *regs,
		    const struct memory *memory,
		    struct unwinder_word ret[UNWINDER_POPPED])
{
	image_begin(&unwinder->image, memory);
	return chain_popped(&unwinder->chain, regs, ret);
}

void unwinder_stats(const struct unwinder *unwinder, struct unwinder_stats *ret)
{
	*ret = unwinder->stats;
	ret->rules = rules_learnt(unwinder->rules);
}
