/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * raise - an exception of the program's own in a stepped instruction
 *
 * The pages of the step are open yet, and an injection now would lose the
 * signal.  Queued again it would not be the same: the kernel keeps the number
 * and the error code of the last trap, which the frame tells the handler
 * (REG_TRAPNO, REG_ERR), and an injected call ends in one of ours.  Where no
 * other thread can close the pages, the signal is delivered by a step: the
 * kernel builds the frame, and stops before the handler's first instruction.
 */

#include "tracer/session.h"

/*
 * @verdict is what session_signal() decided.  If pages of a step are open for
 * @thread, see thread->raises, deliver its signal and close them.
 */
struct verdict raise_finish(struct session *session, struct thread *thread,
			    struct verdict verdict);
