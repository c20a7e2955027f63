/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * limit - a resource limit of the process, changed for a moment
 *
 * The kernel counts private memory that may be written against RLIMIT_DATA,
 * and what is closed does not count.  The program's other threads are held
 * meanwhile, as far as they can be, so that none of them sees the change.
 */

#include <sys/resource.h>

#include "tracer/process/process.h"

struct limit {
	pid_t tid; /* 0: not changed */
	int resource;
	struct rlimit own, lent;
};

int limit_get(pid_t tid, int resource, struct rlimit *ret) _must_check_;

/* -EPERM: it would be more than we may give. */
int limit_lend(struct limit *limit, const struct thread *thread, int resource,
	       const struct rlimit *lent) _must_check_;
void limit_return(struct limit *limit);

/*
 * Let mprotect(2) give memory the right to be written again, whatever
 * RLIMIT_DATA is by now.  -ENOENT: that does not limit anything.
 */
int limit_waive(struct limit *limit, const struct thread *thread) _must_check_;
