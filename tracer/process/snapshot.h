/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * snapshot - the memory of a process as it was at one moment
 *
 * What only the process has is copied while it stands still: those pages of
 * its private mappings that are there and are not a file's (any longer).  The
 * rest is zeros, or is read from the files, which need not be done in the stop.
 * Shared memory is read as it is when it is asked for.
 */

#include "base/error.h"
#include "base/memory.h"
#include "tracer/process/process.h"

struct snapshot;

/*
 * Look how much there is, and take memory for it: the process may run.
 * -ENOMEM and -EFBIG with a sentence.
 */
int snapshot_new(struct process *process, struct snapshot **ret,
		 struct error *err) _must_check_;
void snapshot_free(struct snapshot *snapshot);
DEFINE_CLEANUP(snapshot)

/* Copy it, all threads stand still; @process is the same one, or stays. */
int snapshot_take(struct snapshot *snapshot,
		  struct process *process) _must_check_;

/* What was copied, bytes. */
uint64_t snapshot_size(const struct snapshot *snapshot);

/* The map of that moment. */
const struct maps *snapshot_maps(const struct snapshot *snapshot);

/* All of its memory; nothing may be written. */
struct memory snapshot_memory(struct snapshot *snapshot);

/*
 * The parts of @m, one of snapshot_maps(), that may hold something, until
 * @visit != 0, which is returned: all of what is a file's, and of other memory
 * what was copied; small holes are left in.
 */
int snapshot_parts(const struct snapshot *snapshot, const struct mapping *m,
		   int (*visit)(void *context, uint64_t start, uint64_t end),
		   void *context);
