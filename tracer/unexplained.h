/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * unexplained - closed memory that changed, and no writer was seen
 *
 * Another process on a shared mapping, a device, /proc/PID/mem.  Of a narrow
 * watch under "every" the last bytes known are kept.  An access tells what it
 * found, for nothing: if that is something else, there was a writer.  What
 * nobody touches again is looked at when its page is opened and when the
 * program ends.  Whatever was open, or was written by the kernel, is unknown
 * until the next access, so that no writer is invented.  What was written
 * through one view of shared memory is so in all views of it that are guarded,
 * of all processes that we trace.
 */

#include "tracer/guard/ranges.h"

struct session;
struct effect;

enum { SHADOW_MOST = 64 << 10 /* bytes watched */ };

/* Guarded memory of a file, or shared without one. */
struct shadow_view {
	uint64_t start, end;
	uint64_t device, inode, offset; /* of start */
	bool shared;
};

struct shadow {
	struct ranges ranges; /* tag: where in bytes */
	uint8_t *bytes;
	uint8_t *known; /* one each: are they */
	struct shadow_view *views;
	size_t nviews;
};

/* Pages were closed, no thread runs: learn what is there. */
int shadow_take(struct session *session) _must_check_;
/* Learn from an access what is there, and whether it should have been. */
void shadow_access(struct session *session, const struct effect *effect,
		   bool by_kernel);
/* It may change unseen from now on. */
void shadow_forget(struct session *session, uint64_t start, uint64_t end);
/* Look whether all is as it should be. */
void shadow_check(struct session *session, uint64_t start, uint64_t end);
/* The memory is gone. */
void shadow_done(struct shadow *shadow);
/* Call the two above before pages are opened. */
void shadow_follow(struct session *session);
