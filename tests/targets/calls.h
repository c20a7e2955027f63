/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * calls - memory in which the buffers of a system call lie in several ways
 *
 * Watched are the arena's first part, calls_all, and every second step of the
 * second, calls_0 to calls_15: there each boundary lies between a watched page
 * and one that is not.  The third part is not watched at all.
 */

#include "tests/unit/live.h"

enum {
	CALLS_PAGE = 4096,
	CALLS_STEP = 4 * CALLS_PAGE, /* from boundary to boundary */
	CALLS_PART = 32 * CALLS_STEP,
};

enum calls_place {
	CALLS_GUARDED,	 /* close to each other on guarded pages */
	CALLS_STRADDLES, /* each over the end of a guarded page */
	CALLS_MIXED,	 /* each partly on guarded memory, partly on open */
	CALLS_OPEN,
	CALLS_PLACES,
};

extern uint8_t calls_arena[];
