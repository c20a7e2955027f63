/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "unwinder/rules.h"

enum {
	PLACES_MIN = 1 << 10,
	PLACES_MAX = 1 << 17, /* half of them used: 8 MiB */
	OFFSET_MAX = 1 << 27,
};

struct rules {
	struct cold *cold;
	struct image *image;
	struct rule *place; /* open addressing */
	size_t places, used;
	unsigned registers; /* bit i: a rule uses, or used, register i */
	uint64_t learnt;
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

/*
 * Two probes whose registers lie in the opposite order and differ in all low
 * bits but those of a word: what masks or compares them fits no rule.
 */
static void begin_probes(struct cold_probe probe[2], uint64_t ip,
			 bool is_return)
{
	static const uint64_t sp[2] = { 0x0100100012aaa5a8,
					0x0900200015555a50 };
	static const uint64_t saved[2] = { 0x0200000033331238,
					   0x040000002cccc5c0 };
	static const uint64_t word[2] = { 0x0300000066661968,
					  0x0500000059999690 };

	for (size_t i = 0; i < 2; i++) {
		probe[i].from.ip = ip;
		probe[i].from.is_return = is_return;
		probe[i].from.reg[STATE_SP] = sp[i];
		for (uint64_t j = 0; j < STATE_SAVED; j++)
			probe[i].from.reg[j] =
				saved[i] + j * UINT64_C(0x100000000440);
		probe[i].value = word[i];
	}
}

/* Is @to as many words from @from in both?  Then *@offset is as many bytes. */
static bool is_apart(const uint64_t to[2], const uint64_t from[2],
		     int32_t *offset)
{
	uint64_t apart = to[0] - from[0];

	if (apart != to[1] - from[1] || apart % 8 ||
	    apart + OFFSET_MAX > 2 * OFFSET_MAX)
		return false;
	*offset = (int32_t)apart;
	return true;
}

static void registers_of(const struct cold_probe probe[2], size_t reg,
			 uint64_t ret[2])
{
	ret[0] = probe[0].from.reg[reg];
	ret[1] = probe[1].from.reg[reg];
}

/* The register that @to is a constant distance from, or -1. */
static int find_base(const struct cold_probe probe[2], const uint64_t to[2],
		     int32_t *offset)
{
	for (int i = STATE_SP; i >= 0; i--) {
		uint64_t from[2];

		registers_of(probe, (size_t)i, from);
		if (is_apart(to, from, offset))
			return i;
	}
	return -1;
}

static bool fit_cfa(const struct cold_probe probe[2], struct rule *rule)
{
	uint64_t cfa[2] = { probe[0].caller.reg[STATE_SP],
			    probe[1].caller.reg[STATE_SP] };
	int base = find_base(probe, cfa, &rule->cfa_offset);

	for (size_t i = 0; base < 0 && i < probe[0].reads; i++) {
		uint64_t addr[2] = { probe[0].read[i].addr,
				     probe[1].read[i].addr };
		uint64_t value[2] = { probe[0].read[i].value,
				      probe[1].read[i].value };

		if (!is_apart(cfa, value, &rule->cfa_offset))
			continue;
		base = find_base(probe, addr, &rule->base_offset);
		rule->is_loaded = true;
	}
	rule->base = (uint8_t)base;
	return base >= 0;
}

/* Where both read the values of @after, if they read them. */
static bool find_read(const struct cold_probe probe[2], const uint64_t after[2],
		      uint64_t addr[2])
{
	for (size_t i = 0; i < probe[0].reads; i++) {
		if (probe[0].read[i].value != after[0] ||
		    probe[1].read[i].value != after[1])
			continue;
		addr[0] = probe[0].read[i].addr;
		addr[1] = probe[1].read[i].addr;
		return true;
	}
	return false;
}

/* The slots, if all of them are constant distances from @from. */
static bool fit_slots(const struct cold_probe probe[2], const uint64_t from[2],
		      struct rule *rule)
{
	uint64_t ip[2] = { probe[0].caller.ip, probe[1].caller.ip };
	uint64_t addr[2];

	if (!find_read(probe, ip, addr) ||
	    !is_apart(addr, from, &rule->ip_slot))
		return false;
	rule->restored = 0;
	for (size_t i = 0; i < STATE_SAVED; i++) {
		uint64_t before[2];
		uint64_t after[2] = { probe[0].caller.reg[i],
				      probe[1].caller.reg[i] };

		registers_of(probe, i, before);
		if (after[0] == before[0] && after[1] == before[1])
			continue;
		if (!find_read(probe, after, addr) ||
		    !is_apart(addr, from, &rule->slot[i]))
			return false;
		rule->restored |= 1U << i;
	}
	return true;
}

/* What a walk would have to find out each time. */
static void complete(struct rule *rule)
{
	if (rule->base < STATE_SAVED)
		rule->used |= (uint8_t)(1U << rule->base);
	if (rule->slots_from < STATE_SAVED)
		rule->used |= (uint8_t)(1U << rule->slots_from);
	rule->low = rule->high = rule->ip_slot;
	for (size_t i = 0; i < STATE_SAVED; i++) {
		if (!(rule->restored >> i & 1))
			continue;
		if (rule->slot[i] < rule->low)
			rule->low = rule->slot[i];
		if (rule->slot[i] > rule->high)
			rule->high = rule->slot[i];
	}
	rule->high += 8;
}

static bool fit(const struct cold_probe probe[2], struct rule *rule)
{
	uint64_t from[2] = { probe[0].caller.reg[STATE_SP],
			     probe[1].caller.reg[STATE_SP] };

	if (probe[0].reads != probe[1].reads ||
	    probe[0].caller.is_return != probe[1].caller.is_return ||
	    !fit_cfa(probe, rule))
		return false;
	rule->is_signal = !probe[0].caller.is_return;
	for (int i = RULE_FROM_CFA; i >= 0; i--) {
		if (i < RULE_FROM_CFA)
			registers_of(probe, (size_t)i, from);
		rule->slots_from = (uint8_t)i;
		if (!fit_slots(probe, from, rule))
			continue;
		complete(rule);
		if (rule->is_return && !rule->is_signal && !rule->is_loaded &&
		    i == RULE_FROM_CFA)
			rule->kind = RULE_PLAIN;
		return true;
	}
	return false;
}

/* What one probe is like, or RULE_OTHER if they do not agree. */
static enum rule_kind kind_of(const int step[2])
{
	if (step[0] != step[1])
		return RULE_OTHER;
	if (step[0] == COLD_BOTTOM)
		return RULE_BOTTOM;
	if (step[0] == COLD_NOTHING)
		return RULE_NOTHING;
	return step[0] == COLD_STEPPED ? RULE_LINEAR : RULE_OTHER;
}

static int learn(struct rules *rules, struct rule *rule)
{
	struct cold_probe probe[2] = { 0 };
	int step[2];

	begin_probes(probe, rule->ip, rule->is_return);
	for (size_t i = 0; i < 2; i++) {
		step[i] = cold_probe(rules->cold, &probe[i]);
		if (step[i] < 0)
			return step[i];
	}
	rules->learnt++;
	rule->kind = kind_of(step);
	if (rule->kind == RULE_LINEAR && !fit(probe, rule))
		rule->kind = RULE_OTHER;
	return 0;
}

static int find_new(struct rules *rules, uint64_t ip, bool is_return,
		    const struct rule **ret)
{
	struct rule fresh = { .ip = ip, .is_return = is_return };
	struct rule *rule;
	int r = learn(rules, &fresh);

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
