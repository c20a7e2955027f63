/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * list - all objects of a process by class (--list)
 *
 * Its memory is copied in one stop, it is let go, and looked through then.
 * Nothing is guarded, and nothing of it changed.
 */

#include "tracer/session.h"

struct listing;

/*
 * All that takes long, before any thread is seized: who stops for us then is
 * not served.
 */
int listing_new(pid_t pid, struct listing **ret,
		struct error *err) _must_check_;

/* Of a process that is seized: after that all of its threads are let go. */
int list_take(struct session *session, struct listing *listing) _must_check_;

/* The records, but for the summary; -EINTR: we are told to end. */
int list_tell(struct session *session, struct listing *listing,
	      struct error *err) _must_check_;

void listing_free(struct listing *listing);
DEFINE_CLEANUP(listing)
