/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * chain - a walk by rules, up to where the thread's slots know the rest
 *
 * Gives what unwinder_walk() gives, or declines.
 */

#include "unwinder/rules.h"
#include "unwinder/slots.h"

/*
 * A caller's frame lies above its callee's.  Only where the stack is changed
 * may it be below: signal handlers on stacks of their own, coroutines.  The
 * bound keeps a forged chain from going round for ever.
 */
enum { CHAIN_STACK_CHANGES = 16 };

enum { CHAIN_DECLINED = UNWINDER_END_BROKEN + 1 };

/* Of the innermost frame. */
static inline struct state chain_state(const struct user_regs_struct *regs)
{
	return (struct state){ { regs->rbx, regs->rbp, regs->r12, regs->r13,
				 regs->r14, regs->r15, regs->rsp },
			       regs->rip,
			       false };
}

struct chain {
	struct image *image;
	struct rules *rules;
	struct bulk bulk;
	uint64_t reach; /* how far the last walk from nothing went */
	uint64_t edge;	/* of a page that could not be read for one, or 0 */
	struct fresh *fresh; /* the second structure */
	struct fresh_read *read;
	size_t allocated;
};

void chain_done(struct chain *chain);

/* As unwinder_popped(), in an image that was begun. */
int chain_popped(struct chain *chain, const struct user_regs_struct *regs,
		 struct unwinder_word *ret) _must_check_;

/*
 * As unwinder_walk(), in an image that was begun; or CHAIN_DECLINED.
 * @slots: of the thread, from the same modules; NULL: begin from nothing.
 */
int chain_walk(struct chain *chain, struct slots *slots,
	       const struct user_regs_struct *regs, struct frame *frames,
	       size_t max, size_t *count, size_t *fresh) _must_check_;
