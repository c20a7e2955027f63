/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rules - the step to the caller as arithmetic, learnt once an address
 *
 * At one address a step is almost always linear: the canonical frame address
 * is a register plus a constant, or a word at a register plus a constant, and
 * the return address and the saved registers lie at constant distances of it.
 * libunwind is asked twice, with other registers, and what fits both answers
 * is the rule (10 us); what fits none stays libunwind's.  Rules hold until the
 * modules change.
 */

#include "base/caller.h"
#include "unwinder/cold.h"

enum rule_kind {
	RULE_PLAIN = 1, /* RULE_LINEAR, of a return address: no word is loaded
			   for the CFA, from which all slots are found, and
			   the caller made a call */
	RULE_LINEAR,
	RULE_BOTTOM,  /* the outermost frame */
	RULE_NOTHING, /* no unwind information */
	RULE_OTHER,   /* only libunwind can tell */
};

enum { RULE_FROM_CFA = STATE_REGISTERS };

struct rule {
	uint64_t ip;
	uint8_t kind;	    /* enum rule_kind; 0: the place is free */
	uint8_t is_return;  /* for ip as a return address */
	uint8_t is_signal;  /* the caller was interrupted, it did not call */
	uint8_t is_loaded;  /* the CFA's base is a word at base + base_offset */
	uint8_t base;	    /* of the CFA: enum state_register */
	uint8_t slots_from; /* the same, or RULE_FROM_CFA */
	uint8_t restored;   /* bit i: register i has a slot */
	uint8_t used; /* bit i: the CFA or a slot is found by register i */
	int32_t base_offset, cfa_offset;
	int32_t ip_slot;
	int32_t slot[STATE_SAVED];
	int32_t low, high; /* the bytes that hold all of them */
	int32_t next; /* places on from here: the caller's, when last seen */
};

struct rules;

/* Both must outlive it. */
int rules_new(struct rules **ret, struct cold *cold,
	      struct image *image) _must_check_;
void rules_free(struct rules *rules);
DEFINE_CLEANUP(rules)

/* What may be the rule of the caller: its ip has to be compared. */
static inline const struct rule *rules_next(const struct rule *callee)
{
	return callee + callee->next;
}

/* The modules changed. */
void rules_forget(struct rules *rules);

/* Ask @code for what lies in it; the rules of what lay in the last are gone. */
void rules_made(struct rules *rules, const struct code *code);
/* The same, or NULL: @ip lies in none. */
const struct code *rules_code(const struct rules *rules, uint64_t ip);

/*
 * The rule for @ip, learnt if need be; valid until the next call.  *@rule
 * comes as that of the callee, or NULL: most callers are those of last time,
 * and need not be searched for.  A walk by the cold must begin anew after it.
 * 0 or -errno.
 */
int rules_find(struct rules *rules, uint64_t ip, bool is_return,
	       const struct rule **rule) _must_check_;

/* Bit i: a rule uses register i.  It only grows; others need no restoring. */
unsigned rules_registers(const struct rules *rules);

uint64_t rules_learnt(const struct rules *rules); /* since rules_new() */
