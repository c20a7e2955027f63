/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * snapshot private - the inside of struct snapshot
 *
 * For snapshot.c, which takes it, snapshot_copy.c and snapshot_read.c.
 */

#include "tracer/process/snapshot.h"

enum { FILES = 256 /* kept open */ };

/* Pages beside each other, @at in the copy. */
struct stretch {
	uint64_t start, end, at;
};

struct file {
	uint64_t device, inode;
	int fd;
};

struct snapshot {
	struct process *process;
	struct maps *maps;
	uint64_t *entry;
	struct stretch *stretch;
	size_t count, room;
	size_t last; /* the one that was read last */
	struct file file[FILES];
	size_t files;
	uint8_t *bytes;
	uint64_t size, capacity;
};

/* The descriptor of the file that is mapped there, or -1. */
int snapshot_file(const struct snapshot *snapshot, const struct mapping *m);

/* May it have pages of its own?  Not where nothing may be touched. */
bool snapshot_owns(const struct mapping *m);

/* All stretches, from the process that stands still. */
int snapshot_copy(struct snapshot *snapshot) _must_check_;
