/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * privilege - what a program does not get because it is traced
 *
 * The kernel executes a set-user-ID or set-group-ID program, or one with file
 * capabilities (capabilities(7)), without these rights if whoever traces it
 * has no CAP_SYS_PTRACE.  The program may fail of it, so it is told.
 */

#include "tracer/session.h"

/* The program was just exec'ed: it is told now, or when the log begins. */
void privilege_look(struct session *session);

/* The log has begun: what could not be told before. */
void privilege_tell(struct session *session);
