/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * own_limits - what we may use of files, memory and time (setrlimit(2))
 *
 * Under clsrun the limits are meant for the program, which would die with us
 * when we come to ours.  It needs them as they were.  Of a stack we may use
 * what we have, and the program's does not grow by what we look at.
 */

#include "base/error.h"

/*
 * Ours, as far up as we may, and no signal for a file that is too large.  Of
 * CPU time, where it stays limited, wake.h tells the end in time.  -EMFILE:
 * too few files for a tracer; @err says it.
 */
int limits_raise(struct error *err) _must_check_;

/* In a child of ours, before it becomes the program: what we found. */
void limits_restore(void);
