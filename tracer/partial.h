/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * partial - calls that return early because they are interrupted
 *
 * A write(2) that waits for room in a pipe returns, when it is interrupted,
 * how much it has written so far.  Where only we interrupted it, it is made
 * again for the rest, and the program gets the sum.  Of one with a vector,
 * whose rest may begin in the middle of a piece, each piece is written by a
 * call of its own: a stream has no bounds between them.
 */

#include "tracer/session.h"

/* At a stop where its call has ended: is it made again for the rest? */
bool partial_again(struct session *session, struct thread *thread,
		   struct user_regs_struct *regs);

/* Its call ended with @result. */
void partial_exit(struct session *session, struct thread *thread,
		  int64_t result);

/*
 * It is to be let go: must it be resumed yet, as its call goes on?  For a
 * second at most, and then partial_hurry() stops it.
 */
bool partial_stays(struct session *session, struct thread *thread);
void partial_hurry(struct session *session);

/* Wherever it stands: what was moved so far is what its call returns. */
void partial_settle(struct thread *thread);
