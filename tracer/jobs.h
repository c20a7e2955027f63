/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jobs - the process is being stopped, by SIGSTOP, ^Z and the like
 *
 * One thread takes the signal, and all others come out of their calls, some
 * of which (epoll_wait) end with EINTR by that.  It is not of our making and
 * has to reach the program, though no signal waits for these threads.
 */

#include "tracer/session.h"

/* @signal is given to @thread, now. */
void jobs_stop(struct session *session, struct thread *thread, int signal);

/* Does a thread but @except stand at the delivery of such a signal, or is it
 * to have one that it was sent? */
bool jobs_stopping(struct process *process, const struct thread *except);
