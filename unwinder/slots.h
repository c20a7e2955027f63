/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * slots - what is known of one thread's stack: links, and where they lie
 *
 * After US patent 7,926,048 (expired): a first structure of links and the
 * slots of the stack that they were found in; at the next request it is
 * compared with the stack, what changed is unwound into a second structure,
 * and the rest is taken over.  Links lie outermost first, so that this is a
 * cut and an append.
 *
 * Return addresses and frame pointers alone give plausible false stacks where
 * a frame is found by a register (alloca) or a signal context.  So a link is a
 * whole step: the state that it begins in, and every word that it read.  It
 * holds again where the state is the same and the words are; of registers,
 * only those must be the same that a step further out still needs.
 */

#include "unwinder/bulk.h"
#include "unwinder/state.h"

enum {
	STEP_READS = STATE_SAVED + 2, /* and the ip, and the CFA's base */
	READ_ALWAYS = STATE_SAVED,    /* the word is not a register's */
	SLOTS_RANGES = BULK_PARTS,
};

/* One frame, and its step to its caller. */
struct link {
	struct state state;
	uint64_t cfa; /* 0: the outermost frame */
	uint64_t low; /* the lowest slot from here outwards, in its range */
	uint32_t slot, slots;
	uint8_t need;	 /* registers that it, or a step further out, needs */
	uint8_t changes; /* of the stack, from here outwards */
	bool guessed;	 /* by the frame pointer: never to be reused */
};

/* The second structure: links innermost first, with all they read. */
struct fresh {
	struct link link;
	uint8_t used, restored; /* registers; bit i is enum state_register */
	uint8_t reads;
	size_t read; /* the first of them */
};

struct fresh_read {
	uint64_t addr, value;
	uint64_t reg; /* that it restores, or READ_ALWAYS */
};

/* Slots that lie near each other, for one read. */
struct slots_range {
	uint64_t start, end;
	uint64_t origin; /* that slots tell their distance from */
	uint32_t first;	 /* slot */
};

struct slots {
	uint64_t generation; /* of the modules it was made with */
	struct link *link;
	struct frame *frame; /* the same, as they are given out: innermost
				first, at the end of the array */
	size_t links, links_allocated;
	size_t reusable; /* the outermost, up to a guess */
	/* Of each slot: apart, so that comparing them reads no more. */
	int32_t *offset; /* bytes from its range's origin */
	uint64_t *value;
	size_t count, allocated;
	struct slots_range range[SLOTS_RANGES];
	unsigned ranges;
	bool whole; /* link[0] is the outermost frame */
	bool last;  /* the last walk is all that is known */
};

void slots_clear(struct slots *slots);

/*
 * Read the stack of a thread at @sp into @bulk and set *@unchanged: so many
 * of the outermost links hold if one of their states is met.
 */
int slots_compare(struct slots *slots, struct bulk *bulk,
		  const struct memory *memory, uint64_t sp,
		  size_t *unchanged) _must_check_;

/*
 * The link of the first *@unchanged in which @state is met, or -1.  What a
 * walk outwards has passed is taken off *@unchanged.  @all: every register
 * has to be the same.
 */
ssize_t slots_meet(const struct slots *slots, size_t *unchanged,
		   const struct state *state, bool all);

/* One stack, and @state is further in than all links of the first @unchanged:
 * slots_meet() would give -1. */
static inline bool slots_lie_ahead(const struct slots *slots, size_t unchanged,
				   const struct state *state)
{
	const struct link *link = &slots->link[unchanged - 1];

	return !link->changes &&
	       state->reg[STATE_SP] < link->state.reg[STATE_SP];
}

/* Did the last walk begin in @state, as far as that was needed? */
bool slots_began(const struct slots *slots, const struct state *state);

/*
 * Keep the @links outermost and append @fresh.  @whole: its last one is the
 * outermost frame, or @links is not 0.  On failure it is empty.
 */
int slots_store(struct slots *slots, size_t links, const struct fresh *fresh,
		size_t count, const struct fresh_read *read,
		bool whole) _must_check_;
