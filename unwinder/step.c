/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "unwinder/linear.h"
#include "unwinder/pointer.h"

enum { FRESH_MIN = 64 };

/* There is room for STEP_READS a frame. */
static void note_read(struct walk *walk, uint64_t addr, uint64_t value,
		      unsigned reg)
{
	walk->chain->read[walk->reads++] =
		(struct fresh_read){ addr, value, reg };
}

static int read_slot(struct walk *walk, uint64_t addr, unsigned reg,
		     uint64_t *value)
{
	struct chain *chain = walk->chain;
	int r = bulk_word(&chain->bulk, chain->image, addr, value);

	if (r == 0 && walk->slots)
		note_read(walk, addr, *value, reg);
	return r;
}

/* The CFA by @rule: 0 or -errno. */
static int rule_cfa(struct walk *walk, const struct rule *rule, uint64_t *cfa)
{
	uint64_t base = walk->here.reg[rule->base];

	if (rule->is_loaded) {
		int r;

		base += (uint64_t)(int64_t)rule->base_offset;
		r = base % 8 ? -EFAULT
			     : read_slot(walk, base, READ_ALWAYS, &base);
		if (r < 0)
			return r;
	}
	*cfa = base + (uint64_t)(int64_t)rule->cfa_offset;
	return 0;
}

static const char *part_at(const struct walk *walk,
			   const struct bulk_part *part,
			   const struct rule *rule, uint64_t from)
{
	uint64_t at = from - part->start;
	uint64_t low = at + (uint64_t)(int64_t)rule->low;

	if (low > part->words * 8 ||
	    (uint64_t)(int64_t)(rule->high - rule->low) > part->words * 8 - low)
		return NULL;
	return walk->chain->bulk.bytes + part->at + at;
}

/* The byte at @from, if all slots of @rule were read at once; or NULL. */
static const char *bytes_at(struct walk *walk, const struct rule *rule,
			    uint64_t from)
{
	uint64_t last = from + (uint64_t)(int64_t)rule->high - 8;
	struct chain *chain = walk->chain;
	const char *bytes =
		walk->part ? part_at(walk, walk->part, rule, from) : NULL;

	if (bytes)
		return bytes;
	walk->part = bulk_part(&chain->bulk, last);
	if (!walk->part)
		walk->part =
			bulk_more(&chain->bulk, chain->image->memory, last);
	return walk->part ? part_at(walk, walk->part, rule, from) : NULL;
}

static inline uint64_t word_at(const char *bytes, int32_t offset)
{
	uint64_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* All that @rule reads lies in @bytes, from @from on. */
static void restore(struct walk *walk, const struct rule *rule,
		    const char *bytes, uint64_t from)
{
	bool noted = walk->slots;

	walk->here.ip = word_at(bytes, rule->ip_slot);
	if (noted)
		note_read(walk, from + (uint64_t)(int64_t)rule->ip_slot,
			  walk->here.ip, READ_ALWAYS);
	for (unsigned left = rule->restored; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		walk->here.reg[i] = word_at(bytes, rule->slot[i]);
		if (noted)
			note_read(walk, from + (uint64_t)(int64_t)rule->slot[i],
				  walk->here.reg[i], i);
	}
}

/* The same where they lie apart, or were not read. */
static int restore_each(struct walk *walk, const struct rule *rule,
			uint64_t from)
{
	struct state caller = walk->here;
	int r = read_slot(walk, from + (uint64_t)(int64_t)rule->ip_slot,
			  READ_ALWAYS, &caller.ip);

	for (unsigned left = rule->restored; r == 0 && left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		r = read_slot(walk, from + (uint64_t)(int64_t)rule->slot[i], i,
			      &caller.reg[i]);
	}
	if (r == 0)
		walk->here = caller;
	return r;
}

/*
 * A rule was learnt from aligned registers, and a word that cannot be read is
 * libunwind's to judge: -EFAULT for both.
 */
static int apply(struct walk *walk, const struct rule *rule)
{
	uint64_t cfa, from;
	const char *bytes;
	int r = rule_cfa(walk, rule, &cfa);

	if (r < 0)
		return r;
	from = cfa;
	if (rule->slots_from != RULE_FROM_CFA)
		from = walk->here.reg[rule->slots_from];
	if ((cfa | from) % 8)
		return -EFAULT;
	bytes = bytes_at(walk, rule, from);
	if (bytes)
		restore(walk, rule, bytes, from);
	else
		r = restore_each(walk, rule, from);
	if (r < 0)
		return r;
	walk->here.reg[STATE_SP] = cfa;
	walk->here.is_return = !rule->is_signal;
	return 0;
}

/* As unwinder.c does it, without asking libunwind again. */
static int guess(struct walk *walk)
{
	struct state *here = &walk->here;
	struct cold_frame frame = { here->ip, here->reg[STATE_SP],
				    here->reg[STATE_RBP] };
	struct image *image = walk->chain->image;
	int r;

	if (cold_is_sigreturn(image, here->ip))
		return CHAIN_DECLINED;
	if (image->error)
		return image->error;
	if (walk->by_pointer && frame.rbp == 0)
		return UNWINDER_END_BOTTOM;
	r = walk->count == 1 ? pointer_leaf_caller(image, &frame, &frame)
			     : pointer_caller(image, &frame, &frame);
	if (r != 0)
		return r < 0 ? r : UNWINDER_END_BROKEN;
	here->ip = frame.ip;
	here->reg[STATE_SP] = frame.sp;
	here->reg[STATE_RBP] = frame.rbp;
	here->is_return = true;
	return STEPPED;
}

/* Of chain->fresh, the frame that @rule leads on from. */
static void describe(struct walk *walk, const struct rule *rule)
{
	struct fresh *fresh = &walk->chain->fresh[walk->count - 1];

	fresh->link.cfa = walk->here.reg[STATE_SP];
	fresh->link.guessed = rule->kind == RULE_NOTHING;
	fresh->used = rule->used;
	fresh->restored = rule->restored;
	fresh->reads = (uint8_t)(walk->reads - fresh->read);
}

static int step(struct walk *walk)
{
	uint64_t ip = walk->here.ip, sp = walk->here.reg[STATE_SP], cfa;
	const struct rule *rule = walk->rule;
	int r;

	walk->chain->image->budget = IMAGE_STEP_WORDS;
	r = rules_find(walk->chain->rules, ip, walk->here.is_return, &rule);
	if (r < 0)
		return r;
	/* not all of nothing are in the table that the next one is sought by */
	walk->rule = rule->kind == RULE_NOTHING ? NULL : rule;
	if (rule->kind == RULE_BOTTOM)
		return UNWINDER_END_BOTTOM;
	if (rule->kind == RULE_OTHER)
		return CHAIN_DECLINED;
	r = STEPPED;
	if (rule->kind == RULE_NOTHING)
		r = guess(walk);
	else if (apply(walk, rule) < 0)
		r = CHAIN_DECLINED;
	if (r != STEPPED)
		return r;

	walk->by_pointer = rule->kind == RULE_NOTHING;
	cfa = walk->here.reg[STATE_SP];
	if (walk->count <= walk->max)
		walk->frames[walk->count - 1].cfa = cfa;
	if (walk->slots)
		describe(walk, rule);
	if (cfa > sp)
		return STEPPED;
	if (++walk->changes > CHAIN_STACK_CHANGES ||
	    (cfa == sp && walk->here.ip == ip))
		return CHAIN_DECLINED;
	return STEPPED;
}

static int make_room(struct chain *chain)
{
	size_t want = max_u64(2 * chain->allocated, FRESH_MIN);
	void *p = realloc(chain->fresh, want * sizeof(*chain->fresh));

	if (!p)
		return -ENOMEM;
	chain->fresh = p;
	p = realloc(chain->read, want * STEP_READS * sizeof(*chain->read));
	if (!p)
		return -ENOMEM;
	chain->read = p;
	chain->allocated = want;
	return 0;
}

/* The frame that the walk has come to. */
static int add_frame(struct walk *walk)
{
	struct chain *chain = walk->chain;

	if (walk->count < walk->max)
		walk->frames[walk->count] =
			(struct frame){ .ip = walk->here.ip,
					.guessed = walk->by_pointer };
	if (walk->slots) {
		if (walk->count == chain->allocated && make_room(chain) < 0)
			return -ENOMEM;
		chain->fresh[walk->count] = (struct fresh){
			.link.state = walk->here,
			.read = walk->reads,
		};
	}
	walk->count++;
	return 0;
}

int step_all(struct walk *walk)
{
	for (;;) {
		int r;

		if (!walk->slots && walk->here.is_return && walk->rule &&
		    walk->part && !walk->by_pointer)
			linear_steps(walk);
		if (walk->unchanged &&
		    !slots_lie_ahead(walk->slots, walk->unchanged,
				     &walk->here) &&
		    chain_meets(walk))
			return STEPPED;
		if (walk->count && !walk->here.ip)
			return UNWINDER_END_BOTTOM;
		if (walk->count == walk->limit)
			return UNWINDER_END_TRUNCATED;
		r = add_frame(walk);
		if (r < 0)
			return r;
		r = step(walk);
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
