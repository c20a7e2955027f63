/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * uring - the buffers that io_uring may touch at any time
 *
 * Workers of the kernel read and write them long after io_uring_enter(2)
 * returned; on a closed page that fails, and no stop tells.  So these pages
 * are not guarded.  They are found in the submission entries, which lie in a
 * mapping of the process; entries that are done stay there until they are
 * used again, so what is still under way is among them.
 */

#include "tracer/process/process.h"

/*
 * Call @visit for each buffer in the entries of @process's rings, until it
 * returns non-zero; returns that.  The map must be up to date.
 */
int uring_buffers(struct process *process,
		  int (*visit)(void *context, uint64_t start, uint64_t end),
		  void *context);
