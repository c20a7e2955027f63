/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/process/image_open.h"
#include "tracer/process/snapshot_private.h"

enum {
	ENTRIES = 32768, /* of pagemap, read at once */
	GROWTH = 32,	 /* a part more than there was, for what comes */
};

/* A program that maps so much keeps a shadow of all memory. */
#define MOST  (UINT64_C(1) << 40)
#define SPARE (UINT64_C(4) << 20)

/* Of the 64 bits that the kernel tells of a page; see proc_pid_pagemap(5). */
#define PAGE_THERE (UINT64_C(3) << 62) /* present, swapped */
#define PAGE_FILE  (UINT64_C(1) << 61)

static void unmap(struct snapshot *snapshot)
{
	if (snapshot->bytes)
		munmap(snapshot->bytes, snapshot->capacity);
	snapshot->bytes = NULL;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot->files; i++)
		closep(&snapshot->file[i].fd);
	unmap(snapshot);
	maps_free(snapshot->maps);
	free(snapshot->entry);
	free(snapshot->stretch);
	free(snapshot);
}

/* While it is there: by the time that they are read it may have ended. */
static void open_files(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->maps->count; i++) {
		const struct mapping *m = &snapshot->maps->mapping[i];
		struct stat st;
		int fd;

		if (!m->inode || m->shared || snapshot->files == FILES ||
		    snapshot_file(snapshot, m) >= 0)
			continue;
		fd = image_open(process_proc(snapshot->process), m, &st);
		if (fd >= 0)
			snapshot->file[snapshot->files++] =
				(struct file){ m->device, m->inode, fd };
	}
}

static int add_pages(struct snapshot *snapshot, uint64_t start, uint64_t end)
{
	struct stretch *last = snapshot->count
				       ? &snapshot->stretch[snapshot->count - 1]
				       : NULL;

	if (last && last->end == start) {
		last->end = end;
	} else {
		if (snapshot->count == snapshot->room) {
			size_t room = 2 * snapshot->room + 4096;
			struct stretch *more =
				realloc(snapshot->stretch,
					room * sizeof(*snapshot->stretch));

			if (!more)
				return -ENOMEM;
			snapshot->stretch = more;
			snapshot->room = room;
		}
		snapshot->stretch[snapshot->count++] =
			(struct stretch){ start, end, snapshot->size };
	}
	snapshot->size += end - start;
	return 0;
}

/* Those of @m that are only the process's. */
static int find_pages(struct snapshot *snapshot, const struct mapping *m)
{
	int fd = process_pagemap(snapshot->process), r = 0;
	uint64_t at = m->start;

	while (r == 0 && at < m->end) {
		size_t want = min_u64((m->end - at) / PAGE, ENTRIES);
		ssize_t got = pread(fd, snapshot->entry, 8 * want,
				    (off_t)(at / PAGE * 8));
		size_t count = got > 0 ? (size_t)got / 8 : 0;

		if (!count)
			return got < 0 ? -errno : -ESRCH;
		for (size_t i = 0, k; r == 0 && i < count; i = k + 1) {
			while (i < count &&
			       (!(snapshot->entry[i] & PAGE_THERE) ||
				snapshot->entry[i] & PAGE_FILE))
				i++;
			for (k = i; k < count &&
				    snapshot->entry[k] & PAGE_THERE &&
				    !(snapshot->entry[k] & PAGE_FILE);)
				k++;
			if (k > i)
				r = add_pages(snapshot, at + i * PAGE,
					      at + k * PAGE);
		}
		at += count * PAGE;
	}
	return r;
}

static int find_all(struct snapshot *snapshot)
{
	int r;

	maps_free(snapshot->maps);
	snapshot->maps = NULL;
	snapshot->count = 0;
	snapshot->size = 0;
	r = maps_read(process_proc(snapshot->process), &snapshot->maps, NULL);
	for (size_t i = 0; r == 0 && i < snapshot->maps->count; i++)
		if (snapshot_owns(&snapshot->maps->mapping[i]))
			r = find_pages(snapshot, &snapshot->maps->mapping[i]);
	if (r == 0)
		open_files(snapshot);
	return r;
}

/* Mapped, and all there: a page that is not would be made in the stop. */
static int make_room(struct snapshot *snapshot, uint64_t size)
{
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		return -ENOMEM;
	snapshot->bytes = bytes;
	snapshot->capacity = size;
	madvise(bytes, size, MADV_HUGEPAGE);
	/* An older kernel makes them when they are written */
	madvise(bytes, size, MADV_POPULATE_WRITE);
	return 0;
}

/* What can be had without harm to others; 0 not known. */
static uint64_t memory_left(void)
{
	char line[128];
	uint64_t kilobytes;

	_cleanup_(fclosep) FILE *file = fopen("/proc/meminfo", "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) == 1)
			return kilobytes << 10;
	return 0;
}

static int check_size(const struct snapshot *snapshot, struct error *err)
{
	uint64_t mapped = 0;

	for (size_t i = 0; i < snapshot->maps->count; i++) {
		const struct mapping *m = &snapshot->maps->mapping[i];

		mapped += snapshot_owns(m) ? m->end - m->start : 0;
	}
	if (mapped <= MOST)
		return 0;
	return error_set(err, -EFBIG,
			 "process %d has %ju GiB of private memory mapped, of "
			 "which --list looks through %ju GiB at most",
			 snapshot->process->pid, (uintmax_t)(mapped >> 30),
			 (uintmax_t)(MOST >> 30));
}

static int refuse(const struct snapshot *snapshot, uint64_t size, uint64_t left,
		  struct error *err)
{
	char why[128] = "which we may not have (ulimit -v)";

	if (left && size > left / 2)
		snprintf(why, sizeof(why),
			 "which is more than half of the %ju MiB that are left",
			 (uintmax_t)(left >> 20));
	return error_set(err, -ENOMEM,
			 "process %d has %ju MiB of its own in memory: --list "
			 "needs as much for a copy, %s",
			 snapshot->process->pid,
			 (uintmax_t)(snapshot->size >> 20), why);
}

int snapshot_new(struct process *process, struct snapshot **ret,
		 struct error *err)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot =
		calloc(1, sizeof(*snapshot));
	uint64_t size, left = memory_left();
	int r;

	if (!snapshot)
		return -ENOMEM;
	snapshot->process = process;
	snapshot->entry = malloc(8 * ENTRIES);
	if (!snapshot->entry)
		return -ENOMEM;
	r = maps_read(process_proc(process), &snapshot->maps, NULL);
	if (r == 0)
		r = check_size(snapshot, err);
	if (r == 0)
		r = find_all(snapshot);
	if (r < 0)
		return r;
	size = page_up(snapshot->size + snapshot->size / GROWTH + SPARE);
	if (left && size > left / 2)
		return refuse(snapshot, size, left, err);
	r = make_room(snapshot, size);
	if (r < 0)
		return refuse(snapshot, size, left, err);
	*ret = take(snapshot);
	return 0;
}

int snapshot_take(struct snapshot *snapshot, struct process *process)
{
	int r;

	snapshot->process = process;
	r = find_all(snapshot);

	if (r == 0 && snapshot->size > snapshot->capacity) {
		unmap(snapshot);
		r = make_room(snapshot, page_up(snapshot->size));
	}
	return r == 0 ? snapshot_copy(snapshot) : r;
}

uint64_t snapshot_size(const struct snapshot *snapshot)
{
	return snapshot->size;
}

const struct maps *snapshot_maps(const struct snapshot *snapshot)
{
	return snapshot->maps;
}
