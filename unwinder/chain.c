/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "unwinder/chain.h"
#include "unwinder/pointer.h"

enum {
	FRESH_MIN = 64,
	REACH_MIN = 2048, /* else the image reads as much at once */
	REACH_MORE = 1024,
	CHAIN_REACH_MAX = 1 << 19,
};

/* A step that went well; else enum unwinder_end, CHAIN_DECLINED or -errno. */
enum { STEPPED = CHAIN_DECLINED + 1 };

/* One walk. */
struct walk {
	struct chain *chain;
	struct slots *slots;
	size_t unchanged; /* of its links */
	ssize_t met;	  /* the link that the fresh ones end at, or -1 */

	struct state here;
	bool by_pointer; /* here was found through rbp */
	unsigned changes;
	size_t count; /* of chain->fresh */

	size_t max;   /* frames that are asked for */
	size_t limit; /* that are unwound at most */
	size_t most;  /* that are remembered */
};

void chain_done(struct chain *chain)
{
	bulk_done(&chain->bulk);
	free(chain->fresh);
	*chain = (struct chain){ 0 };
}

static int read_slot(struct walk *walk, struct fresh *fresh, uint64_t addr,
		     unsigned reg, uint64_t *value)
{
	struct chain *chain = walk->chain;
	int r = bulk_word(&chain->bulk, chain->image, addr, value);

	if (r == 0 && walk->slots) {
		fresh->read[fresh->reads].addr = addr;
		fresh->read[fresh->reads].value = *value;
		fresh->read[fresh->reads++].reg = (uint8_t)reg;
	}
	return r;
}

/* The CFA by @rule: 0 or -errno. */
static int rule_cfa(struct walk *walk, const struct rule *rule,
		    struct fresh *fresh, uint64_t *cfa)
{
	uint64_t base = walk->here.reg[rule->base];

	if (rule->base < STATE_SAVED)
		fresh->used |= (uint8_t)(1U << rule->base);
	if (rule->is_loaded) {
		int r;

		base += (uint64_t)(int64_t)rule->base_offset;
		r = base % 8 ? -EFAULT
			     : read_slot(walk, fresh, base, READ_ALWAYS, &base);
		if (r < 0)
			return r;
	}
	*cfa = base + (uint64_t)(int64_t)rule->cfa_offset;
	return 0;
}

/*
 * A rule was learnt from aligned registers, and a word that cannot be read is
 * libunwind's to judge: -EFAULT for both.
 */
static int apply(struct walk *walk, const struct rule *rule,
		 struct fresh *fresh, struct state *caller)
{
	uint64_t cfa, from;
	int r = rule_cfa(walk, rule, fresh, &cfa);

	if (r < 0)
		return r;
	from = cfa;
	if (rule->slots_from != RULE_FROM_CFA) {
		from = walk->here.reg[rule->slots_from];
		if (rule->slots_from < STATE_SAVED)
			fresh->used |= (uint8_t)(1U << rule->slots_from);
	}
	if ((cfa | from) % 8)
		return -EFAULT;

	*caller = walk->here;
	r = read_slot(walk, fresh, from + (uint64_t)(int64_t)rule->ip_slot,
		      READ_ALWAYS, &caller->ip);
	for (unsigned left = rule->restored; r == 0 && left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		r = read_slot(walk, fresh,
			      from + (uint64_t)(int64_t)rule->slot[i], i,
			      &caller->reg[i]);
	}
	fresh->restored = rule->restored;
	caller->reg[STATE_SP] = cfa;
	caller->is_return = !rule->is_signal;
	return r;
}

/* As unwinder.c does it, without asking libunwind again. */
static int guess(struct walk *walk, struct fresh *fresh, struct state *caller)
{
	const struct state *here = &walk->here;
	struct cold_frame frame = { here->ip, here->reg[STATE_SP],
				    here->reg[STATE_RBP] };
	struct image *image = walk->chain->image;
	int r;

	fresh->link.guessed = true;
	if (cold_is_sigreturn(image, here->ip))
		return CHAIN_DECLINED;
	if (image->error)
		return image->error;
	if (walk->by_pointer && frame.rbp == 0)
		return UNWINDER_END_BOTTOM;
	r = pointer_caller(image, &frame, &frame);
	if (r != 0)
		return r < 0 ? r : UNWINDER_END_BROKEN;
	*caller = *here;
	caller->ip = frame.ip;
	caller->reg[STATE_SP] = frame.sp;
	caller->reg[STATE_RBP] = frame.rbp;
	caller->is_return = true;
	return STEPPED;
}

static int step(struct walk *walk, struct fresh *fresh)
{
	uint64_t ip = walk->here.ip, sp = walk->here.reg[STATE_SP];
	struct state caller;
	const struct rule *rule;
	int r;

	walk->chain->image->budget = IMAGE_STEP_WORDS;
	r = rules_find(walk->chain->rules, ip, walk->here.is_return, &rule);
	if (r < 0)
		return r;
	if (rule->kind == RULE_BOTTOM)
		return UNWINDER_END_BOTTOM;
	if (rule->kind == RULE_OTHER)
		return CHAIN_DECLINED;
	r = STEPPED;
	if (rule->kind == RULE_NOTHING)
		r = guess(walk, fresh, &caller);
	else if (apply(walk, rule, fresh, &caller) < 0)
		r = CHAIN_DECLINED;
	if (r != STEPPED)
		return r;

	walk->by_pointer = rule->kind == RULE_NOTHING;
	walk->here = caller;
	fresh->link.cfa = caller.reg[STATE_SP];
	if (fresh->link.cfa > sp)
		return STEPPED;
	if (++walk->changes > CHAIN_STACK_CHANGES ||
	    (fresh->link.cfa == sp && caller.ip == ip))
		return CHAIN_DECLINED;
	return STEPPED;
}

/*
 * May the rest be taken over?  Not if it stops before enough frames are
 * there, nor if more would be remembered than is allowed.
 */
static bool meets(struct walk *walk)
{
	struct slots *slots = walk->slots;
	size_t total;
	ssize_t i = slots_meet(slots, &walk->unchanged, &walk->here,
			       walk->count == 0);

	if (i < 0)
		return false;
	total = walk->count + (size_t)i + 1;
	if ((!slots->whole && total < walk->max) || total > walk->most ||
	    walk->changes + slots->link[i].changes > CHAIN_STACK_CHANGES) {
		walk->unchanged = 0;
		return false;
	}
	walk->met = i;
	return true;
}

static struct fresh *add_fresh(struct walk *walk)
{
	struct chain *chain = walk->chain;
	struct fresh *fresh;

	if (walk->count == chain->allocated) {
		size_t want = max_u64(2 * chain->allocated, FRESH_MIN);

		fresh = realloc(chain->fresh, want * sizeof(*fresh));
		if (!fresh)
			return NULL;
		chain->fresh = fresh;
		chain->allocated = want;
	}
	fresh = &chain->fresh[walk->count++];
	fresh->link = (struct link){ .state = walk->here };
	fresh->used = fresh->restored = fresh->reads = 0;
	return fresh;
}

/* enum unwinder_end, of the fresh frames, STEPPED if they met what is known,
 * CHAIN_DECLINED or -errno. */
static int walk_fresh(struct walk *walk)
{
	for (;;) {
		struct fresh *fresh;
		int r;

		if (walk->unchanged && meets(walk))
			return STEPPED;
		if (walk->count && !walk->here.ip)
			return UNWINDER_END_BOTTOM;
		if (walk->count == walk->limit)
			return UNWINDER_END_TRUNCATED;
		fresh = add_fresh(walk);
		if (!fresh)
			return -ENOMEM;
		r = step(walk, fresh);
		if (r == STEPPED)
			continue;
		/* what nobody asked for may fail */
		if ((r == UNWINDER_END_BROKEN || r == CHAIN_DECLINED) &&
		    walk->count > walk->max) {
			walk->count--;
			return UNWINDER_END_TRUNCATED;
		}
		return r;
	}
}

static size_t fill(const struct walk *walk, struct frame *frames, size_t *fresh)
{
	size_t n = min_u64(walk->count, walk->max);
	size_t more = min_u64((size_t)(walk->met + 1), walk->max - n);

	for (size_t i = 0; i < n; i++) {
		const struct link *link = &walk->chain->fresh[i].link;

		frames[i] = (struct frame){ link->state.ip, link->cfa };
	}
	*fresh = n;
	for (size_t i = 0; i < more; i++)
		frames[n + i] = walk->slots->frame[(size_t)walk->met - i];
	return n + more;
}

/* A walk from nothing reads at once what the last one would have needed. */
static void note_reach(const struct walk *walk)
{
	struct chain *chain = walk->chain;
	uint64_t bottom = walk->here.reg[STATE_SP], sp;

	if (walk->met >= 0 || !walk->count)
		return;
	sp = chain->fresh[0].link.state.reg[STATE_SP];
	chain->reach =
		bottom > sp && bottom - sp <= CHAIN_REACH_MAX ? bottom - sp : 0;
}

/*
 * A little more, because no walk is like the last; but then a stack may be at
 * its end, and is not read beyond the next time.
 */
static int read_reach(struct chain *chain, uint64_t sp)
{
	uint64_t start = (sp - RED_ZONE) & ~UINT64_C(7);
	uint64_t end =
		start + ((RED_ZONE + REACH_MORE + chain->reach) & ~UINT64_C(7));
	int r;

	if (chain->bulk.parts || chain->reach < REACH_MIN)
		return 0;
	if (chain->edge > start && chain->edge < end)
		end = chain->edge;
	r = bulk_add(&chain->bulk, chain->image->memory, start, end);
	if (r == -EFAULT)
		chain->edge = page_down(end - 1);
	return r == -EFAULT ? 0 : r;
}

static int finish(struct walk *walk, int end, struct frame *frames,
		  size_t *count, size_t *fresh)
{
	struct slots *slots = walk->slots;
	size_t total = walk->count + (size_t)(walk->met + 1);
	bool whole = walk->met < 0 ? end == UNWINDER_END_BOTTOM : slots->whole;

	*count = fill(walk, frames, fresh);
	note_reach(walk);
	if (end == UNWINDER_END_BROKEN)
		return end; /* and is not remembered */
	if (slots) {
		int r = slots_store(slots, (size_t)(walk->met + 1),
				    walk->chain->fresh, walk->count, whole);

		if (r < 0)
			return r;
	}
	return whole && total <= walk->max ? UNWINDER_END_BOTTOM
					   : UNWINDER_END_TRUNCATED;
}

int chain_walk(struct chain *chain, struct slots *slots,
	       const struct user_regs_struct *regs, struct frame *frames,
	       size_t max, size_t *count, size_t *fresh)
{
	/* Returns of a few frames must not end in a walk from nothing. */
	size_t spare = slots ? 32 + max / 4 : 0;
	struct walk walk = {
		.chain = chain,
		.slots = slots,
		.met = -1,
		.here = { { regs->rbx, regs->rbp, regs->r12, regs->r13,
			    regs->r14, regs->r15, regs->rsp },
			  regs->rip,
			  false },
		.max = max,
		.limit = max + spare,
		.most = max + 2 * spare,
	};
	int r;

	bulk_clear(&chain->bulk);
	if (slots) {
		r = slots_compare(slots, &chain->bulk, chain->image->memory,
				  regs->rsp, &walk.unchanged);
		if (r < 0)
			return r;
	}
	r = read_reach(chain, regs->rsp);
	if (r < 0)
		return r;
	r = walk_fresh(&walk);
	if (r < 0 || r == CHAIN_DECLINED)
		return r;
	return finish(&walk, r, frames, count, fresh);
}
