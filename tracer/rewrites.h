/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rewrites - does the program have /proc/PID/mem open?
 *
 * Through it code can be written that is mapped from a file and read-only, and
 * no stop tells: then no instruction may be kept decoded.  Does not see what
 * another process does.
 */

#include "tracer/session.h"

/* Look at all that is open. */
void rewrites_look(struct session *session);

/* A call of @number returned @result: did it open it? */
void rewrites_after(struct session *session, int number, int64_t result);
