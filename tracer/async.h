/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * async - memory that the kernel touches when it likes
 *
 * What is given to an io_uring once is used by submissions that do not name
 * it, and by workers without any call.  So buffers are refused by name as soon
 * as they are given.  Where the program gives them by stores alone, in a ring
 * of buffers or in entries that a polling thread of the kernel reads, the page
 * of that ring is guarded: each store is seen before the kernel can act on it.
 */

#include "tracer/guard/ranges.h"

struct call;
struct session;
struct thread;

/* A ring of buffers in the program's own memory. */
struct async_lent {
	uint64_t start, end;
	uint64_t ring; /* as it was named when it was registered */
	uint16_t group;
};

struct async {
	struct ranges kept;    /* refused until it is unmapped; tag 0 */
	struct ranges entries; /* of submissions, in its own memory; tag 0 */
	struct async_lent *lent;
	size_t nlent;
	bool used;  /* the program has, or had, a ring */
	bool polls; /* a thread of the kernel reads entries */
};

/* For whom memory is refused: the context of those who find it. */
struct async_giver {
	struct session *session;
	struct thread *thread; /* as of async_give() */
};

/* Refuse, and mind, in session->watch what it has. The map is up to date. */
int async_refuse(struct session *session) _must_check_;

/*
 * Not guarded any longer; @lasts: until it is unmapped.  @thread, which is
 * stopped, gives the rights back; NULL: pages are yet to be closed.
 */
int async_give(struct session *session, struct thread *thread, uint64_t start,
	       uint64_t end, bool lasts) _must_check_;

/*
 * @thread is about to submit.  0: what that names is not guarded any longer,
 * and pages may be closed while it waits; 1: an argument is in guarded memory.
 */
int async_submit(struct session *session, struct thread *thread,
		 const struct call *call) _must_check_;

/* The same while nothing is guarded: what it gives for good is kept in mind. */
int async_rest(struct session *session, struct thread *thread,
	       const struct call *call) _must_check_;

/* Is that in a ring whose page is guarded for it? */
bool async_minds(const struct session *session, uint64_t addr);

/* @thread has stored there. */
int async_stored(struct session *session, struct thread *thread,
		 uint64_t addr) _must_check_;

/* After an exec nothing is. */
void async_forget(struct session *session);
