/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * step - from one frame to the next, by rules
 */

#include "unwinder/chain.h"

/* One walk, and where it has come to. */
struct walk {
	struct chain *chain;
	struct slots *slots;
	size_t unchanged; /* of its links */
	ssize_t met;	  /* the link that the fresh ones end at, or -1 */

	struct state here;
	uint64_t sp;	 /* where it began */
	bool by_pointer; /* here was found through rbp */
	unsigned changes;
	const struct bulk_part *part; /* that the last step read of, or NULL */
	const struct rule *rule;      /* of the last step, or NULL */
	unsigned wanted; /* registers: linear.c restores no others */

	struct frame *frames;
	size_t count; /* unwound so far; with slots, chain->fresh */
	size_t reads; /* of chain->read */

	size_t max;   /* frames that are asked for */
	size_t limit; /* that are unwound at most */
	size_t most;  /* that are remembered */
};

/* A step that went well; else enum unwinder_end, CHAIN_DECLINED or -errno. */
enum { STEPPED = CHAIN_DECLINED + 1 };

/*
 * Go on until the walk ends, or meets what is known.  Returns an enum
 * unwinder_end of the frames that were unwound, STEPPED if it met,
 * CHAIN_DECLINED or -errno.
 */
int step_all(struct walk *walk) _must_check_;

/* chain.c: does walk->here lie in what is known?  Sets walk->met. */
bool chain_meets(struct walk *walk);
