/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ahead - going on in a thread's program after its access was performed
 *
 * Says which memory may be touched without the thread, and reports what was:
 * closed pages that are private to the process, files' contents that nobody
 * may write, and, while there is one thread, all that it shares with no other
 * process.  What was stored is in the process before the thread runs on, or
 * anybody else is looked at.
 */

#include "tracer/fault.h"

/*
 * From @cpu on, after the instruction at @from was performed and reported.
 * @changed, of what changed in its vector state, is added to.  0 or -errno.
 */
int session_ahead(struct session *session, struct thread *thread,
		  struct decoded *from, struct cpu *cpu,
		  struct ahead_result *changed) _must_check_;

/*
 * Does @insn, a call or a return, move the shadow stack of @thread, too?
 * That cannot be done for it.
 */
bool session_shadows(struct session *session, const struct thread *thread,
		     const struct insn *insn);

/* @call was made: the program may have got what it would notice by. */
void session_ahead_after(struct session *session, int call);

/* The process's memory, with what a run has stored and not yet written. */
struct memory session_memory(struct session *session);
