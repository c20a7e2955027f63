/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * data_limit - calls that RLIMIT_DATA may let fail
 *
 * The kernel compares it with the sum of private memory that may be written,
 * to which what is closed does not count.  Near the limit a call runs with
 * all that is closed open.
 */

#include "tracer/call.h"

/* May the call fail by the limit?  The map is fresh. */
bool data_limit_is_near(const struct session *session,
			const struct thread *thread, const struct call *call);
