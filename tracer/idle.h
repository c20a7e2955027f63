/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * idle - who is let go, but has seccomp filters of ours
 *
 * Without a tracer the calls that they stop would fail.  So threads that we
 * are done with, and children that we do not follow, stay attached until their
 * end: each of their stops is answered as if nobody traced them.
 */

#include "tracer/session.h"

/* Let @tid go: detach it, or keep it here if it has filters. */
void idle_let_go(struct session *session, pid_t tid);

/* Is it one of these, or a child of one that nobody will tell of? */
bool idle_takes(const struct session *session, pid_t tid);
void idle_stop(struct session *session, const struct stop *stop);

/* A stop of a thread of the program's after tracing has ended. */
struct verdict idle_thread(struct session *session, struct thread *thread);
