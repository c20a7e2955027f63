/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * uring - the buffers that io_uring may touch at any time
 *
 * Workers of the kernel read and write them long after io_uring_enter(2)
 * returned; on a closed page that fails, and no stop tells.  So these pages
 * are not guarded.  They are found in the submission entries, which lie in a
 * mapping of the process; entries that are done stay there until they are
 * used again, so what is still under way is among them.  And in the rings of
 * buffers, that submissions choose from.
 */

#include "tracer/process/process.h"

/* What is in a mapping of an io_uring, or in memory that serves as one. */
enum uring_part {
	URING_OTHER,
	URING_ENTRIES, /* struct io_uring_sqe */
	URING_LENT,    /* struct io_uring_buf */
};

enum uring_part uring_part(const struct mapping *mapping);

struct uring_visitor {
	struct process *process;
	/* @lasts: whatever becomes of the entry; non-zero ends it. */
	int (*visit)(void *context, uint64_t start, uint64_t end, bool lasts);
	void *context;
};

/*
 * Visit each buffer that is named in [start, end), which is @part.  The map
 * must be up to date.
 */
int uring_buffers(const struct uring_visitor *visitor, enum uring_part part,
		  uint64_t start, uint64_t end);

/* Each of @count struct iovec at @addr, and what they point to. */
int uring_vectors(const struct uring_visitor *visitor, uint64_t addr,
		  uint64_t count);
