/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "unwinder/step.h"

enum {
	REACH_FIRST = 4096, /* while nothing is known */
	REACH_MORE = 512,
	CHAIN_REACH_MAX = 1 << 19,
};

void chain_done(struct chain *chain)
{
	bulk_done(&chain->bulk);
	free(chain->fresh);
	free(chain->read);
	*chain = (struct chain){ 0 };
}

/*
 * May the rest be taken over?  Not if it stops before enough frames are
 * there, nor if more would be remembered than is allowed.
 */
bool chain_meets(struct walk *walk)
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

/* The rest, from what is known. */
static size_t fill(const struct walk *walk, size_t *fresh)
{
	size_t n = min_u64(walk->count, walk->max);
	size_t more = min_u64((size_t)(walk->met + 1), walk->max - n);
	const struct slots *slots = walk->slots;

	*fresh = n;
	if (more)
		memcpy(walk->frames + n,
		       slots->frame + slots->links_allocated - 1 - walk->met,
		       more * sizeof(*walk->frames));
	return n + more;
}

/* A walk from nothing reads at once what the last one would have needed. */
static void note_reach(const struct walk *walk)
{
	struct chain *chain = walk->chain;
	uint64_t bottom = walk->here.reg[STATE_SP], sp = walk->sp;

	if (walk->met >= 0)
		return;
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
	uint64_t reach = chain->reach ? chain->reach : REACH_FIRST;
	uint64_t end = start + ((RED_ZONE + REACH_MORE + reach) & ~UINT64_C(7));
	int r = chain->bulk.parts ? 0 : -EFAULT;

	for (int tries = 0; r == -EFAULT && tries < 2; tries++) {
		if (chain->edge > start && chain->edge < end)
			end = chain->edge;
		r = bulk_add(&chain->bulk, chain->image->memory, start, end);
		if (r == -EFAULT)
			chain->edge = page_down(end - 1);
	}
	return r == -EFAULT ? 0 : r;
}

static int finish(struct walk *walk, int end, size_t *count, size_t *fresh)
{
	struct slots *slots = walk->slots;
	size_t total = walk->count + (size_t)(walk->met + 1);
	bool whole = walk->met < 0 ? end == UNWINDER_END_BOTTOM : slots->whole;

	*count = fill(walk, fresh);
	note_reach(walk);
	if (end == UNWINDER_END_BROKEN)
		return end; /* and is not remembered */
	if (slots) {
		int r = slots_store(slots, (size_t)(walk->met + 1),
				    walk->chain->fresh, walk->count,
				    walk->chain->read, whole);

		if (r < 0)
			return r;
	}
	return whole && total <= walk->max ? UNWINDER_END_BOTTOM
					   : UNWINDER_END_TRUNCATED;
}

int chain_popped(struct chain *chain, const struct user_regs_struct *regs,
		 struct unwinder_word *ret)
{
	const struct state here = chain_state(regs);
	const struct rule *rule = NULL;
	uint64_t from;
	int count = 0;
	int r = rules_find(chain->rules, here.ip, false, &rule);

	if (r < 0)
		return r;
	if (rule->kind != RULE_LINEAR || rule->is_loaded)
		return 0;
	from = rule->slots_from == RULE_FROM_CFA
		       ? here.reg[rule->base] +
				 (uint64_t)(int64_t)rule->cfa_offset
		       : here.reg[rule->slots_from];
	for (unsigned left = rule->restored; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		uint64_t at = from + (uint64_t)(int64_t)rule->slot[i];

		if (at < regs->rsp && regs->rsp - at <= RED_ZONE)
			ret[count++] =
				(struct unwinder_word){ at, here.reg[i] };
	}
	return count;
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
		.here = chain_state(regs),
		.sp = regs->rsp,
		.wanted = rules_registers(chain->rules) | 1U << STATE_RBP,
		.frames = frames,
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
	r = step_all(&walk);
	if (r >= 0 && !slots && rules_registers(chain->rules) & ~walk.wanted)
		/* one that was learnt on the way uses what was not restored */
		return chain_walk(chain, slots, regs, frames, max, count,
				  fresh);
	if (r < 0 || r == CHAIN_DECLINED)
		return r;
	return finish(&walk, r, count, fresh);
}
