/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cold - one frame after the other, by libunwind
 *
 * Says when it has no unwind information instead of guessing; guesses are
 * the caller's.
 */

#include "unwinder/image.h"

enum cold_step {
	COLD_STEPPED,
	COLD_BOTTOM,  /* the outermost frame, so its unwind information says */
	COLD_NOTHING, /* no unwind information for this address */
	COLD_FAILED,  /* it could not be followed */
};

/* What a step needs of a frame: ip, sp and the callee-saved registers. */
struct cold_frame {
	uint64_t ip, sp, rbp;
};

struct cold;

/* @image must outlive it. */
int cold_new(struct cold **ret, struct image *image) _must_check_;
void cold_free(struct cold *cold);
DEFINE_CLEANUP(cold)

/*
 * Begin at @regs.  @is_return: rip is a return address, so the call before
 * it is what is looked up.
 */
int cold_begin(struct cold *cold, const struct user_regs_struct *regs,
	       bool is_return) _must_check_;

/* To the caller: enum cold_step, or -errno of the image. */
int cold_step(struct cold *cold) _must_check_;

/* Where it stands after COLD_STEPPED, or stood before a failing step. */
void cold_frame(const struct cold *cold, struct cold_frame *ret);

/*
 * Go on in a caller that somebody else found; the other callee-saved
 * registers are taken as not saved on the way.
 */
int cold_resume(struct cold *cold,
		const struct cold_frame *caller) _must_check_;
