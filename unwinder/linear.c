/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unwinder/linear.h"

static inline uint64_t word_at(const char *bytes, int32_t offset)
{
	uint64_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* Are all slots of @rule, of a frame that ends @at, in so many bytes? */
static inline bool lies_in(const struct rule *rule, uint64_t at, uint64_t size)
{
	uint64_t low = at + (uint64_t)(int64_t)rule->low;

	return low <= size &&
	       (uint64_t)(int64_t)(rule->high - rule->low) <= size - low;
}

/* That of the caller's, if it is plain; else NULL. */
static inline const struct rule *plain_rule(struct chain *chain, uint64_t ip,
					    const struct rule *callee)
{
	const struct rule *rule = rules_next(callee);

	if (rule->ip == ip && rule->kind == RULE_PLAIN)
		return rule;
	rule = callee;
	chain->image->budget = IMAGE_STEP_WORDS;
	if (rules_find(chain->rules, ip, true, &rule) < 0)
		return NULL; /* it will be told when it is asked for again */
	return rule->kind == RULE_PLAIN ? rule : NULL;
}

void linear_steps(struct walk *walk)
{
	const struct bulk_part *part = walk->part;
	const char *bytes = walk->chain->bulk.bytes + part->at;
	uint64_t start = part->start, size = part->words * 8;
	struct state here = walk->here;
	const struct rule *rule = walk->rule;
	size_t count = walk->count, limit = walk->limit;
	struct chain *chain = walk->chain;
	struct frame *frames = walk->frames;
	unsigned wanted = walk->wanted;

	while (here.ip && count < limit) {
		const struct rule *next = plain_rule(chain, here.ip, rule);
		uint64_t cfa, at;

		if (!next)
			break;
		cfa = here.reg[next->base] +
		      (uint64_t)(int64_t)next->cfa_offset;
		at = cfa - start;
		if (cfa % 8 || cfa <= here.reg[STATE_SP] ||
		    !lies_in(next, at, size))
			break;
		rule = next;
		frames[count++] = (struct frame){ .ip = here.ip, .cfa = cfa };
		here.ip = word_at(bytes + at, rule->ip_slot);
		for (unsigned left = rule->restored & wanted; left;
		     left &= left - 1) {
			unsigned i = (unsigned)__builtin_ctz(left);

			here.reg[i] = word_at(bytes + at, rule->slot[i]);
		}
		here.reg[STATE_SP] = cfa;
	}
	walk->here = here;
	walk->rule = NULL; /* learning the next may have moved it */
	walk->count = count;
}
