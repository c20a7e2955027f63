/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * orphans - children whose parent was killed before it could tell of them
 *
 * SIGKILL ends a thread also between the birth of its child and the stop that
 * tells of it.  The child stands still at its first stop and has another
 * parent by now; of which process it is a copy, the place of its stack tells,
 * which an exec chooses at random and a fork keeps.
 */

#include "tracer/family.h"

/* Take in those that nobody told of for a while. */
void orphans_tick(struct family *family);

/* May a child of @session, which was killed, be still unheard of? */
bool orphans_may_come(const struct session *session);
