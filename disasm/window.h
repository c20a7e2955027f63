/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * window - copies of pages of somebody else's memory, and what was stored
 *
 * For as long as nobody else can touch them.  A page is read when it is first
 * touched; what is stored stays here until window_flush() writes it.  A page
 * that takes no stores is found at the first one, which fails.
 */

#include "base/memory.h"

enum { WINDOWS = 64 }; /* pages at most */

/* What may be done with a page. */
enum {
	WINDOW_READ = 1,
	WINDOW_WRITE = 2,
	WINDOW_WATCHED = 4, /* accesses are of interest */
};

struct window {
	uint64_t addr;
	uint8_t rights; /* WINDOW_* */
	bool dirty;
	uint64_t stored[PAGE / 64]; /* a bit for each byte */
	uint8_t bytes[PAGE];
};

struct windows {
	void *context;

	/*
	 * The rights to the page at @addr, and its bytes; 0: it must not be
	 * touched here.
	 */
	int (*load)(void *context, uint64_t addr, uint8_t bytes[PAGE]);
	int (*store)(void *context, uint64_t addr, const void *bytes,
		     size_t size);

	/* May be NULL: told of each store, when it is made. */
	void (*stored)(void *context, uint64_t addr, const void *bytes,
		       size_t size);

	bool watched_only; /* pages without WINDOW_WATCHED are refused */
	bool watched;	   /* one with it was touched; the caller clears it */
	bool written;	   /* something was stored; likewise */

	unsigned count;
	uint8_t index[2 * WINDOWS]; /* by page number: a slot + 1, or 0 */
	struct window window[WINDOWS];
};

/* Reading and writing through the windows; -EFAULT where none can be had. */
struct memory window_memory(struct windows *windows);

/* True if all of [addr, addr + size) can be had with these rights. */
bool window_allows(struct windows *windows, uint64_t addr, uint64_t size,
		   uint8_t rights);

/* Put what is in windows over the @size bytes that were read at @addr. */
void window_overlay(const struct windows *windows, uint64_t addr, void *buffer,
		    size_t size);

/* Write what was stored. 0, or the first error; all of it is tried. */
int window_flush(struct windows *windows) _must_check_;

/* Forget all pages; what was stored and not written is lost. */
void window_clear(struct windows *windows);
