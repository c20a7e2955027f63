/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * wake - the signals that reach the tracer itself
 *
 * A tick interrupts the wait for stops, so that limits are kept while the
 * target is silent.  What a user sends is noted, or passed on to the program.
 */

#include <signal.h>
#include <sys/types.h>

#include "base/macro.h"

/*
 * Under clsrun (@program its pid) signals are the program's: those of the
 * terminal it gets by itself, others are passed on.  With @program 0 each
 * signal that would end us asks us to leave.
 */
int wake_install(pid_t program) _must_check_;
int wake_every(unsigned tick_ms) _must_check_;
/* The program has ended: signals are ours now. */
void wake_orphaned(void);
/* Those that ask us to leave, or are passed on. */
void wake_signals(sigset_t *ret);
void wake_quiet(void); /* no more ticks */
void wake_restore(void);

bool wake_leave(void); /* a signal asked us to leave */
bool wake_tick(void);  /* a tick came since the last question */
