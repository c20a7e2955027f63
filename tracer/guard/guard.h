/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * guard - the pages whose rights we took away
 *
 * Owns one promise: every page gets back the rights it had.  A page is ours
 * or not; ours is CLOSED (rights taken) or OPEN (its own rights, for now).
 * Knows nothing of watches: ranges of pages in, mprotect calls out.
 */

#include "tracer/guard/ranges.h"
#include "tracer/process/inject.h"

struct guard {
	struct ranges pages;   /* ours; tag: the PROT_* they had */
	struct ranges closed;  /* those that are closed now; tag the same */
	struct ranges dropped; /* were ours once: faults may be on the way;
				  tag: the PROT_* they had then */
	uint64_t refused;      /* ranges that could not be closed again */
	bool writes_only;      /* closed pages may still be read */
	struct ranges seen;    /* under "once": open, and to stay so */
	bool once;	       /* guard_arm() does not close what was opened */
	void (*opening)(void *context, uint64_t start, uint64_t end);
	void *context; /* of opening(): closed pages are about to be opened */
	struct survival *survival; /* whose table says what pages says */
};

void guard_done(struct guard *guard);

static inline bool guard_closed(const struct guard *guard, uint64_t start,
				uint64_t end)
{
	return ranges_overlap(&guard->closed, start, end);
}

/* A fault here may have been raised while the page was closed. */
static inline bool guard_was_closed(const struct guard *guard, uint64_t addr)
{
	return ranges_find(&guard->pages, addr) ||
	       ranges_find(&guard->dropped, addr);
}

/* The rights that the page of @addr has for the program; -1: not ours. */
int guard_prot(const struct guard *guard, uint64_t addr);

/*
 * Make @wanted (tag: PROT_* of each page) ours and close them; what was ours
 * and is not wanted gets its rights back.  Goes on after a range that the
 * kernel refuses (mseal, too many mappings), takes it out and tells it.
 */
int guard_arm(struct guard *guard, struct injection *injection,
	      const struct ranges *wanted,
	      void (*refused)(void *context, uint64_t start, uint64_t end,
			      int number),
	      void *context) _must_check_;

/*
 * Close what is ours and open in [start, end).  What the kernel refuses is
 * dropped and counted in guard->refused.
 */
int guard_close_range(struct guard *guard, struct injection *injection,
		      uint64_t start, uint64_t end) _must_check_;

/* Give [start, end) its rights, as far as it is closed; still ours. */
int guard_open(struct guard *guard, struct injection *injection, uint64_t start,
	       uint64_t end) _must_check_;

/* The rights of a page that is closed and whose own are @prot. */
int guard_closed_prot(const struct guard *guard, int prot);

/* Does a mapping that shows @shown look closed, if its own are @prot? */
bool guard_looks_closed(const struct guard *guard, int shown, int prot);

/* Ours no longer; opened first. */
int guard_drop(struct guard *guard, struct injection *injection, uint64_t start,
	       uint64_t end) _must_check_;

/* Tell the survival handler, if there is one, what is ours by now. */
void guard_publish(const struct guard *guard);

/*
 * The map changed: forget pages that are gone, take over rights that the
 * program gave them meanwhile.  The pages concerned must be open.
 */
int guard_reconcile(struct guard *guard, const struct maps *maps) _must_check_;
