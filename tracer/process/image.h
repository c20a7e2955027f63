/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * image - one file that is mapped, what it says, and its symbols when asked
 *
 * It knows no address of the process.  An image lives as long as the list it
 * is in, so that names taken from its tables stay valid.
 */

#include <sys/stat.h>
#include <sys/types.h>

#include "tracer/process/elf.h"
#include "tracer/process/lines.h"
#include "tracer/process/maps.h"
#include "tracer/process/types.h"

struct image {
	struct image *next;
	uint64_t device, inode; /* as maps tell them */
	struct stat stat;	/* tells a new file with an old inode number */
	unsigned snapshot;	/* the last one that had it */

	bool is_elf;
	struct elf_layout layout;

	pid_t pid;
	int fd; /* -1 once the table is loaded */
	bool loaded;
	struct elf_table table;
	struct lines *lines; /* NULL: no debug information */
	struct types *types; /* NULL: none, or not asked for */
	uint32_t *buckets;   /* by name: 1 + index of an entry; 0 empty */
	uint32_t mask;
};

struct images {
	struct image *first;
	pid_t pid;
	unsigned snapshot; /* counts up with each new map */
};

/*
 * The image behind @mapping of the current snapshot, from the list or new in
 * it; one that is no regular file or no ELF has is_elf false.
 */
int image_of(struct images *images, const struct mapping *mapping,
	     struct image **ret) _must_check_;
void images_free(struct images *images);

/* Files are opened through this thread's /proc from now on. */
void images_follow(struct images *images, pid_t tid);

/* Its symbols; empty if there are none or no memory. */
const struct elf_table *image_table(struct image *image);

/* Its source lines, or NULL. */
struct lines *image_lines(struct image *image);

/* Its types and variables, or NULL. */
struct types *image_types(struct image *image);

/*
 * Index in the table of the next entry called @name, or -ENOENT.  Start with
 * *position 0.
 */
ssize_t image_named(struct image *image, const char *name, uint32_t *position);
