/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * blind - which accesses to guarded memory cannot be seen, for "armed"
 */

struct session;

enum { BLIND_MOST = 8 };

/* Static texts into @ret; returns how many. */
unsigned blind_list(const struct session *session, const char *ret[BLIND_MOST]);
