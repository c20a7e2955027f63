/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * bounce - a system call's buffers, moved to memory that is not guarded
 *
 * bounce_begin() copies every buffer that touches guarded pages (and those
 * that hold pointers to such buffers) into @room, patches the pointers and
 * gives the changed arguments.  bounce_end() brings back the bytes that the
 * kernel wrote and nothing else, and tells what was touched.  Pure but for the
 * memory callback.
 *
 * Buffers that overlap share their copy.  An address keeps its offset in 64
 * bytes, that of a buffer of a sector or more its offset in the page (O_DIRECT
 * looks at it).
 *
 * A call that ends with -ERESTART_RESTARTBLOCK (516) goes on with the room's
 * addresses, which the kernel kept: leave the room, and end the bounce after
 * the restart_syscall that follows.
 */

#include "tracer/guard/syscalls.h"

struct bounce_use {
	uint64_t addr;	   /* in the program's own buffer */
	uint64_t size;	   /* bytes the kernel really read or wrote; where
			      it does not say: first to last that changed */
	uint8_t direction; /* BUFFER_IN, BUFFER_OUT or both */
	uint32_t shown;	   /* bytes in old and new */
	uint8_t old[64];
	uint8_t new[64];
};

/* A buffer, or several that overlap. */
struct bounce_span {
	uint64_t addr, size;
	uint64_t room;
	uint8_t *image; /* the bytes put there */
	uint8_t *after; /* and found there at the end */
};

struct bounce {
	struct call_plan plan;
	uint64_t args[6];	       /* as the kernel shall see them */
	uint64_t moved[CALL_BUFFERS];  /* address in the room; 0: not moved */
	uint8_t *before[CALL_BUFFERS]; /* bytes put there: in an image */
	struct bounce_span span[CALL_BUFFERS];
	unsigned spans;
};

/* Bytes of room that @plan needs (alignment kept); 0: nothing is guarded. */
uint64_t bounce_room(const struct call_plan *plan,
		     bool (*guarded)(void *context, uint64_t addr,
				     uint64_t size),
		     void *context);

/*
 * Move.  0, or -errno and nothing moved: -EFAULT where the program's own
 * memory cannot be read (let the call run as it is: it fails as without us).
 */
int bounce_begin(struct bounce *bounce, const struct call *call,
		 const struct call_plan *plan, uint64_t room,
		 bool (*guarded)(void *context, uint64_t addr, uint64_t size),
		 void *context, const struct memory *memory) _must_check_;

/*
 * Bring back after the call returned @result.  @uses gets one entry per
 * buffer whose touched bytes lie (in part) on guarded pages.  After a failure
 * what changed is brought back, too: some calls write and fail.
 *
 * The first error of @memory is returned, after all else was tried.
 */
int bounce_end(struct bounce *bounce, int64_t result,
	       const struct memory *memory,
	       bool (*guarded)(void *context, uint64_t addr, uint64_t size),
	       void *context, struct bounce_use uses[CALL_BUFFERS],
	       unsigned *count) _must_check_;

void bounce_done(struct bounce *bounce); /* frees; also after a failure */
