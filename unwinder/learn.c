/* SPDX-License-Identifier: Apache-2.0 */
#include "unwinder/learn.h"

enum { OFFSET_MAX = 1 << 27 };

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

void rule_complete(struct rule *rule)
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
	if (rule->is_return && !rule->is_signal && !rule->is_loaded &&
	    rule->slots_from == RULE_FROM_CFA)
		rule->kind = RULE_PLAIN;
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
		rule_complete(rule);
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

int rule_learn(struct cold *cold, struct rule *rule)
{
	struct cold_probe probe[2] = { 0 };
	int step[2];

	begin_probes(probe, rule->ip, rule->is_return);
	for (size_t i = 0; i < 2; i++) {
		step[i] = cold_probe(cold, &probe[i]);
		if (step[i] < 0)
			return step[i];
	}
	rule->kind = kind_of(step);
	if (rule->kind == RULE_LINEAR && !fit(probe, rule))
		rule->kind = RULE_OTHER;
	return 0;
}
