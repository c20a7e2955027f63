/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "unwinder/learn.h"
#include "unwinder/made.h"

enum {
	PLACES_MIN = 1 << 10,
	PLACES_MAX = 1 << 17, /* half of them used: 8 MiB */
};

struct rules {
	struct cold *cold;
	struct image *image;
	struct rule *place; /* open addressing */
	size_t places, used;
	unsigned registers; /* bit i: a rule uses, or used, register i */
	uint64_t learnt;
	struct code code;
	struct rule none; /* of an ip in it of which nothing is known yet */
};

/* A cache line each. */
static struct rule *new_places(size_t count)
{
	size_t size = count * sizeof(struct rule);
	struct rule *place = aligned_alloc(sizeof(struct rule), size);

	static_assert(sizeof(struct rule) == 64, "a cache line");
	if (place)
		memset(place, 0, size);
	return place;
}

int rules_new(struct rules **ret, struct cold *cold, struct image *image)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;

	rules = calloc(1, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	rules->cold = cold;
	rules->image = image;
	rules->places = PLACES_MIN;
	rules->place = new_places(rules->places);
	if (!rules->place)
		return -ENOMEM;
	*ret = take(rules);
	return 0;
}

void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	free(rules->place);
	free(rules);
}

void rules_forget(struct rules *rules)
{
	memset(rules->place, 0, rules->places * sizeof(*rules->place));
	rules->used = 0;
}

unsigned rules_registers(const struct rules *rules)
{
	return rules->registers;
}

uint64_t rules_learnt(const struct rules *rules)
{
	return rules->learnt;
}

/* The rule, or the free place where it belongs. */
static struct rule *look_up(const struct rules *rules, uint64_t ip,
			    bool is_return)
{
	size_t i = ((2 * ip + is_return) * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

	for (;; i++) {
		struct rule *rule = &rules->place[i & (rules->places - 1)];

		if (!rule->kind ||
		    (rule->ip == ip && rule->is_return == is_return))
			return rule;
	}
}

/* At most half of the places may be used. */
static int make_room(struct rules *rules)
{
	_cleanup_(freep) struct rule *old = rules->place;
	size_t count = rules->places;

	if (2 * (rules->used + 1) <= count || count == PLACES_MAX) {
		take(old);
		if (2 * (rules->used + 1) > count)
			rules_forget(rules);
		return 0;
	}
	rules->place = new_places(2 * count);
	if (!rules->place) {
		rules->place = take(old);
		return -ENOMEM;
	}
	rules->places = 2 * count;
	for (size_t i = 0; i < count; i++) {
		struct rule *rule;

		if (!old[i].kind)
			continue;
		rule = look_up(rules, old[i].ip, old[i].is_return);
		*rule = old[i];
		rule->next = 0;
	}
	return 0;
}

const struct code *rules_code(const struct rules *rules, uint64_t ip)
{
	return code_holds(&rules->code, ip) ? &rules->code : NULL;
}

/* The others cost as much as hundreds of these each, so they stay. */
static void forget_made(struct rules *rules, const struct code *code)
{
	struct rule *old = rules->place;
	struct rule *place = new_places(rules->places);

	if (!place) {
		rules_forget(rules);
		return;
	}
	rules->place = place;
	rules->used = 0;
	for (size_t i = 0; i < rules->places; i++) {
		struct rule *rule;

		if (!old[i].kind || code_holds(&rules->code, old[i].ip) ||
		    code_holds(code, old[i].ip))
			continue;
		rule = look_up(rules, old[i].ip, old[i].is_return);
		*rule = old[i];
		rule->next = 0;
		rules->used++;
	}
	free(old);
}

void rules_made(struct rules *rules, const struct code *code)
{
	forget_made(rules, code);
	rules->code = *code;
}

/* What its maker tells: false: nothing. */
static bool learn_made(struct rules *rules, struct rule *rule)
{
	struct caller caller = { 0 };

	if (!rules->code.caller(rules->code.context, rule->ip, rule->is_return,
				&caller))
		return false;
	made_rule(&caller, rule);
	rule_complete(rule);
	rules->learnt++;
	return true;
}

static int find_new(struct rules *rules, uint64_t ip, bool is_return,
		    const struct rule **ret)
{
	struct rule fresh = { .ip = ip, .is_return = is_return };
	struct rule *rule;
	int r = 0;

	if (!rules_code(rules, ip)) {
		r = rule_learn(rules->cold, &fresh);
		rules->learnt += r == 0;
	} else if (!learn_made(rules, &fresh)) {
		/* it may be there the next time */
		fresh.kind = RULE_NOTHING;
		rules->none = fresh;
		*ret = &rules->none;
		return 0;
	}
	if (r == 0)
		r = make_room(rules);
	if (r < 0)
		return r;
	rule = look_up(rules, ip, is_return);
	*rule = fresh;
	rules->used++;
	rules->registers |= fresh.used;
	*ret = rule;
	return 0;
}

int rules_find(struct rules *rules, uint64_t ip, bool is_return,
	       const struct rule **rule)
{
	struct rule *callee = NULL, *found;

	if (*rule) {
		const struct rule *next = rules_next(*rule);

		if (next->ip == ip && next->kind &&
		    next->is_return == is_return) {
			*rule = next;
			return 0;
		}
		callee = rules->place + (*rule - rules->place);
	}
	found = look_up(rules, ip, is_return);
	if (!found->kind)
		return find_new(rules, ip, is_return, rule);
	if (callee)
		callee->next = (int32_t)(found - callee);
	*rule = found;
	return 0;
}
