/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>

#include "unwinder/made.h"

static_assert((int)CALLER_REGISTERS == STATE_SAVED &&
		      (int)CALLER_RBX == STATE_RBX &&
		      (int)CALLER_RBP == STATE_RBP &&
		      (int)CALLER_R12 == STATE_R12 &&
		      (int)CALLER_R15 == STATE_R15,
	      "they are numbered alike");

void made_rule(const struct caller *caller, struct rule *rule)
{
	int32_t from = caller->is_loaded ? 0 : caller->sp;

	rule->kind = RULE_LINEAR;
	rule->base = caller->by_rbp ? STATE_RBP : STATE_SP;
	rule->slots_from = RULE_FROM_CFA;
	rule->cfa_offset = from;
	if (caller->is_loaded) {
		rule->is_loaded = true;
		rule->base_offset = caller->sp;
		rule->slots_from = rule->base;
	}
	rule->ip_slot = caller->ip - from;
	rule->restored = caller->saved;
	for (size_t i = 0; i < STATE_SAVED; i++)
		if (rule->restored >> i & 1)
			rule->slot[i] = caller->slot[i] - from;
}

int made_step(const struct caller *caller, struct image *image,
	      struct state *state)
{
	uint64_t base = state->reg[caller->by_rbp ? STATE_RBP : STATE_SP];
	uint64_t sp = base + (uint64_t)(int64_t)caller->sp;
	struct state ret = *state;
	int r;

	if (base % 8)
		return -EFAULT;
	r = image_word(image, base + (uint64_t)(int64_t)caller->ip, &ret.ip);
	if (r == 0 && caller->is_loaded)
		r = image_word(image, sp, &sp);
	for (size_t i = 0; r == 0 && i < STATE_SAVED; i++)
		if (caller->saved >> i & 1)
			r = image_word(
				image,
				base + (uint64_t)(int64_t)caller->slot[i],
				&ret.reg[i]);
	if (r == 0 && sp % 8)
		r = -EFAULT;
	if (r < 0)
		return r;
	ret.reg[STATE_SP] = sp;
	ret.is_return = true;
	*state = ret;
	return 0;
}
