/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * compared - what a call of unknown extent wrote, found by comparing
 *
 * The watched bytes that were opened for the call are kept while it runs with
 * all others held; what differs afterwards it has written.  Bytes that it
 * wrote as they were, and those that it read, are not found.  Memory that
 * other processes share is left alone: they may have written it.
 */

#include "tracer/call.h"

enum { COMPARED_MOST = 1 << 20 /* bytes that are kept */ };

struct compared {
	struct ranges ranges; /* watched bytes; apart from each other */
	uint8_t *bytes;	      /* theirs, in a row */
};

/*
 * Its pages are open, it has not begun.  NULL: some of them cannot be
 * compared, or too many; none is then.
 */
struct compared *compared_begin(struct session *session,
				const struct ranges *opened);
void compared_free(struct compared *compared);

/* Events for what changed, less what the plan's own buffers tell. */
void compared_report(struct session *session, struct thread *thread,
		     struct compared *compared, int64_t result);
