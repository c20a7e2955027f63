/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * unwinder - a stopped thread's call chain, as addresses
 *
 * Registers and memory in, {ip, cfa} out; no symbol names and no ptrace.
 * Cold unwinding by libunwind with accessors of our own: one bulk read of the
 * stack, and a table of modules that the caller keeps (libunwind's own _UPT
 * accessors re-read the map and cost 250 us a frame).  Warm, its steps are
 * arithmetic that was learnt of it (rules.h), and of the frames only those are
 * unwound that are not as they were (slots.h).
 */

#include <sys/user.h>

#include "base/caller.h"
#include "base/memory.h"

enum { UNWINDER_DEPTH_MAX = 4096 };

/* One ELF module with unwind tables that lie in the process's memory. */
struct unwinder_module {
	uint64_t start, end; /* its whole extent in the process */
	uint64_t text_start, text_end;
	uint64_t eh_frame_hdr, eh_frame_hdr_size; /* 0: none */
};

struct frame {
	uint64_t ip;	      /* of the access, then return addresses */
	uint64_t cfa : 63;    /* canonical frame address, 0 if unknown */
	uint64_t guessed : 1; /* found by what looks like a frame, as the code
			       * that it called has no unwind information:
			       * there may be frames in between */
};

enum unwinder_end {
	UNWINDER_END_BOTTOM,	/* the outermost frame */
	UNWINDER_END_TRUNCATED, /* @max was reached */
	UNWINDER_END_BROKEN,	/* no unwind information, or it led nowhere */
};

struct unwinder;

int unwinder_new(struct unwinder **ret) _must_check_;
void unwinder_free(struct unwinder *unwinder);
DEFINE_CLEANUP(unwinder)

/* The modules changed; @modules is copied and sorted by start. */
int unwinder_modules(struct unwinder *unwinder,
		     const struct unwinder_module *modules,
		     size_t count) _must_check_;

/*
 * What tells the frames of code that was made at run time; called within the
 * walks, and copied.  Again when that code changed: what was learnt of it, and
 * of stacks, is forgotten.
 */
void unwinder_made(struct unwinder *unwinder, const struct code *code);

/*
 * Fill @frames (at most @max) innermost first and set *@count.  Returns an
 * enum unwinder_end, or -errno with *@count = 0.
 */
int unwinder_walk(struct unwinder *unwinder,
		  const struct user_regs_struct *regs,
		  const struct memory *memory, struct frame *frames, size_t max,
		  size_t *count) _must_check_;

/* What is known of one thread's stack: slots.h. */
struct slots;

int slots_new(struct slots **ret) _must_check_;
void slots_free(struct slots *slots);
DEFINE_CLEANUP(slots)

/*
 * The same answer by what was learnt of earlier walks: of the modules, and of
 * this thread in @slots, which nobody else may use; NULL: only of the modules.
 * The first *@fresh frames were unwound, the others are known from before.
 * @slots costs 120 bytes a frame and 12 a word that is compared, for as many
 * frames as were asked for and half of that more.
 */
int unwinder_walk_warm(struct unwinder *unwinder, struct slots *slots,
		       const struct user_regs_struct *regs,
		       const struct memory *memory, struct frame *frames,
		       size_t max, size_t *count, size_t *fresh) _must_check_;

/*
 * The innermost frame, where its rule needs no word of the stack, as in most
 * code.  False: only a walk can tell.
 */
bool unwinder_innermost(struct unwinder *unwinder,
			const struct user_regs_struct *regs,
			const struct memory *memory, struct frame *ret);

/*
 * Would the last walk with @slots, if of the stack nothing has changed since,
 * give the same with these registers?
 */
bool unwinder_holds(const struct unwinder *unwinder, const struct slots *slots,
		    const struct user_regs_struct *regs);

struct unwinder_word {
	uint64_t addr, value;
};

enum { UNWINDER_POPPED = 6 };

/*
 * For memory of which only what is above the stack pointer was kept.  At a
 * function's end the tables find registers below it, where they were popped
 * from: they have those values yet.  Fills @ret, returns how many, or -errno.
 */
int unwinder_popped(struct unwinder *unwinder,
		    const struct user_regs_struct *regs,
		    const struct memory *memory,
		    struct unwinder_word ret[UNWINDER_POPPED]) _must_check_;

struct unwinder_stats {
	uint64_t stacks;	/* that were walked warm */
	uint64_t fresh, reused; /* frames of them */
	uint64_t declined;	/* stacks that were left to libunwind */
	uint64_t reads;		/* of the process's memory, for them */
	uint64_t rules;		/* learnt, one an address */
};

void unwinder_stats(const struct unwinder *unwinder,
		    struct unwinder_stats *ret);
