/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * maps - the memory map of one process
 *
 * A snapshot of /proc/PID/maps in address order.  It does not follow the
 * process: whoever lets it change its map reads a new snapshot.  Our own
 * mprotect splits mappings: an edge here proves nothing about the program.
 */

#include <sys/types.h>

#include "base/error.h"

struct mapping {
	uint64_t start;	 /* first byte */
	uint64_t end;	 /* one past the last byte */
	uint64_t offset; /* of start, in the file */
	uint64_t inode;	 /* 0: anonymous */
	uint64_t device; /* makedev(3) value */
	int prot;	 /* PROT_* of mmap(2) */
	bool shared;	 /* MAP_SHARED */
	char *path;	 /* "" if there is none; escapes of the kernel undone */
};

struct maps {
	struct mapping *mapping;
	size_t count;
};

/* Read the map of process @pid.  The caller frees *@ret. */
int maps_read(pid_t pid, struct maps **ret, struct error *err) _must_check_;

/* The same from an open file, for tests and fuzzing. -EBADMSG: broken line. */
int maps_parse(FILE *file, struct maps **ret, struct error *err) _must_check_;

void maps_free(struct maps *maps);
DEFINE_CLEANUP(maps)

/* The lowest piece of the first thread's stack, all named so; or NULL. */
const struct mapping *maps_stack(const struct maps *maps);

/* The mapping that holds @addr, or NULL. */
const struct mapping *maps_find(const struct maps *maps, uint64_t addr);

/*
 * Does nobody change the bytes of @m, one of @maps, but by calls that change
 * the map?  Those of a file may not be written in it, and the file is neither
 * a memfd nor mapped once more to be shared.  (That it lies on a disk where
 * somebody rewrites it in place is not expected.)
 */
bool maps_constant(const struct maps *maps, const struct mapping *m);

/* The first mapping that ends above @addr, or NULL. */
const struct mapping *maps_above(const struct maps *maps, uint64_t addr);
