/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * smaps - what the kernel tells of each mapping beyond its rights
 *
 * It goes through all page tables for it: of a large process that takes
 * milliseconds.  Ask maps first whether there is anything to find.
 */

#include <sys/types.h>

#include "base/macro.h"

struct smaps_mapping {
	uint64_t start, end;
	uint64_t page;	   /* size of its pages in bytes, 0 not told */
	const char *flags; /* of VmFlags in proc_pid_smaps(5): " rd wr mr" */
};

/*
 * Each mapping of @pid in address order, until @visit != 0, which is returned.
 * 0; -errno, but no mappings of a process that is gone.
 */
int smaps_each(pid_t pid,
	       int (*visit)(void *context, const struct smaps_mapping *mapping),
	       void *context) _must_check_;

/* The same of an open file. */
int smaps_parse(FILE *file,
		int (*visit)(void *context,
			     const struct smaps_mapping *mapping),
		void *context) _must_check_;

/* Is @flag, two letters, one of them? */
bool smaps_has(const struct smaps_mapping *mapping, const char *flag);
