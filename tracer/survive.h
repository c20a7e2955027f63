/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * survive - when our SIGSEGV handler is in the program, and what it sees
 *
 * It is there while pages are closed, and nowhere else: not between slices,
 * after we left, in forked children, nor while the program asks for its
 * disposition or sets it.
 */

#include "tracer/session.h"

/* The scratch memory is there: prepare; a warning if it is not possible. */
int survive_prepare(struct session *session,
		    struct injection *injection) _must_check_;

/* Before pages are closed, and after all are open. */
int survive_install(struct session *session,
		    struct injection *injection) _must_check_;
int survive_remove(struct session *session,
		   struct injection *injection) _must_check_;

/* What the kernel has for @signal, not what the program believes. */
struct disposition survive_actual(const struct thread *thread, int signal);

/*
 * Around a call that shows or takes SIGSEGV's disposition: the program's own
 * is there for the while, so that the kernel answers.
 */
int survive_enter(struct session *session, struct thread *thread, int number,
		  uint64_t signal) _must_check_;
int survive_leave(struct session *session, struct thread *thread) _must_check_;

/*
 * A SIGSEGV that is the program's is to be delivered.  1: as usual; 0: it was
 * dropped, or is queued again with nothing of ours in its way.
 */
int survive_deliver(struct session *session,
		    struct thread *thread) _must_check_;

/* A vfork child was born: it copied our handler, which it must not keep. */
void survive_birth(struct session *session, const struct thread *parent,
		   struct thread *child);
int survive_shed(struct session *session, struct thread *child) _must_check_;

/* A thread stands in our handler's code, which must stay until it is out. */
bool survive_busy(const struct session *session);
