/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * follow - a child becomes a process of its own in the family
 *
 * fork(2) copies what we know of a process as it copies the process: a child
 * begins with its parent's guard, closed already when it runs.  A child that
 * shares its parent's memory (vfork) is a thread of it until it execs.
 */

#include "tracer/session.h"

/*
 * @tid was forked by @thread of @parent (NULL: by one that is gone).  True:
 * it has a session now, and its first stop is awaited there.  False: it is not
 * to be followed, or cannot be, which is told.
 */
bool follow_fork(struct session *parent, const struct thread *thread,
		 pid_t tid);

/* Its first stop: as the parent was when it forked, so is it. */
struct verdict follow_born(struct session *session, struct thread *thread);

/*
 * A vfork child of @parent has exec'ed, and stands there.  True: it has a
 * session now, which will be served, and @thread is gone.
 */
bool follow_exec(struct session *parent, struct thread *thread);

/* A session that has not got anything to do is freed here. */
void follow_newborn_free(struct newborn *newborn);
