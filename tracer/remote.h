/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * remote - process_vm_readv(2) and its kin from one traced process to another
 *
 * They obey the rights of the pages, and end at the first that we closed.
 * What is left is copied for the caller, as far as the other process has the
 * rights for it, and told as an access to that one's memory.  Not of a caller
 * that we do not trace, or whose calls are not looked at just then, or that has
 * a pid namespace of its own.
 */

#include "tracer/session.h"

/*
 * The call of @thread that ended with *@result: what it returns instead,
 * there and in the thread.  Done again it does nothing.
 */
int remote_exit(struct session *session, struct thread *thread,
		int64_t *result) _must_check_;

/* The same of one that is to be let go, if it stands at such an exit. */
void remote_settle(struct session *session, struct thread *thread);
