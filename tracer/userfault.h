/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * userfault - memory whose pages the program itself provides
 *
 * What is registered with a userfaultfd(2) is fetched by a thread of the
 * program when another one touches it.  While we step an instruction, or make
 * a call for a thread, that one may be held: the touch would never end.  So
 * this memory is refused by name, and what reaches into it from guarded memory
 * gives up the latter's page.
 */

#include "tracer/guard/syscalls.h"
#include "tracer/session.h"

/* Has it one open?  Whoever registers memory is seen from then on. */
void userfault_look(struct session *session);

/* Refuse in session->watch what is registered now.  /proc/PID/smaps tells. */
int userfault_refuse(struct session *session) _must_check_;

/* @thread is about to make @call: what it registers is given up. */
int userfault_enter(struct session *session, struct thread *thread,
		    const struct call *call) _must_check_;

/* Does the instruction, with these registers, touch what is registered? */
bool userfault_touches(const struct session *session, const struct insn *insn,
		       const struct user_regs_struct *regs);

/* After an exec nothing is. */
void userfault_forget(struct session *session);
