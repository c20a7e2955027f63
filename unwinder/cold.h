/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cold - one frame after the other, by libunwind
 *
 * Says when it has no unwind information instead of guessing; guesses are
 * the caller's.
 */

#include "unwinder/image.h"
#include "unwinder/state.h"

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

/* The same with all of them; cold_state() tells them, but for is_return. */
void cold_state(struct cold *cold, struct state *ret);
int cold_resume_state(struct cold *cold,
		      const struct state *caller) _must_check_;

enum { COLD_PROBE_READS = 16 };

/*
 * A step over registers and memory that are made up; only text and unwind
 * tables are the process's.  Words that are read have values far apart, so
 * that what comes out tells where it came from.
 */
struct cold_probe {
	struct state from;
	uint64_t value; /* of the first word that is read */

	struct state caller; /* undefined registers are 0 */
	struct {
		uint64_t addr, value;
	} read[COLD_PROBE_READS]; /* in the order of the first reads */
	size_t reads;
	unsigned lookups;   /* of unwind information */
	uint64_t looked_up; /* the address of the second */
};

/*
 * enum cold_step, or -errno of the image.  COLD_STEPPED sets caller and read.
 * A walk that is on must begin anew.
 */
int cold_probe(struct cold *cold, struct cold_probe *probe) _must_check_;

/*
 * Is the code at @ip what a signal handler returns to?  libunwind knows it by
 * its bytes, and some libraries have no unwind information for it.
 */
bool cold_is_sigreturn(struct image *image, uint64_t ip);
