/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * growth - a guarded stack that grows
 *
 * The kernel gives what it adds below the first thread's stack the rights that
 * the lowest page has: it is closed like that one, whom a fault of the
 * program's, or EFAULT of a call, would surprise.  What was added is taken in
 * here.  The lowest page is never left open, whatever the policy, so that what
 * is added is closed but where an instruction or a call had all open.
 */

#include "tracer/session.h"

/* The stack's lowest page, if it is guarded. */
void growth_note(struct session *session);

/* Does it have to grow to reach @addr, or has it, and nobody took note? */
bool growth_below(const struct session *session, uint64_t addr);

/*
 * The kernel measures the piece that grows, which rights of ours cut off from
 * the rest, and lets it grow too far.  A fault that @thread, at the stop for
 * it, has there becomes the one of an address that is not mapped.
 */
bool growth_exceeds(const struct session *session, uint64_t addr);
int growth_deny(struct thread *thread) _must_check_;

/* Nothing is guarded any longer: unmap what was added too far. */
int growth_trim(struct session *session,
		struct injection *injection) _must_check_;

/* Take in what was added; what of it is open goes into @open, NULL: stays. */
int growth_look(struct session *session, struct ranges *open) _must_check_;

/*
 * An instruction or a call is done that had @opened open.  What it added
 * joins @opened.  Unless @all is to be closed only that, and the lowest page,
 * stay in it.
 */
int growth_opened(struct session *session, struct ranges *opened,
		  bool all) _must_check_;

/* The kernel is to use @addr: let the stack reach down to it, if it can. */
int growth_reach(struct session *session, struct thread *thread,
		 uint64_t addr) _must_check_;
