/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * warden - the process that people see, and kill, instead of the tracer
 *
 * Who traces is a child, in a session and by a name of its own ("cls-tracer"):
 * a SIGKILL that is meant for us ends the warden, which holds nothing of the
 * target.  The kernel tells the tracer, and it leaves as ever: calls settled,
 * rights back, nothing of ours left.  The kernel also picks the warden first
 * when memory runs out.
 */

#include "base/error.h"

enum { WARDEN_TRACER = -1 };

/*
 * Divide in two.  WARDEN_TRACER: we are who traces.  Else we were the warden,
 * all is over, and this is the status to exit with; if @err has a text, the
 * tracer was killed itself, or there is none.  @kill: the tracer is to be
 * killed with the warden.
 */
int warden_divide(bool kill, struct error *err);
