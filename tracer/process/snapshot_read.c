/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/process/mem.h"
#include "tracer/process/snapshot_private.h"

enum { HOLE = 64 << 10 /* bytes; more is left out */ };

/* Above it lies [vsyscall], which has no pages. */
#define USER_END (UINT64_C(1) << 56)

int snapshot_file(const struct snapshot *snapshot, const struct mapping *m)
{
	for (size_t i = 0; i < snapshot->files; i++)
		if (snapshot->file[i].inode == m->inode &&
		    snapshot->file[i].device == m->device)
			return snapshot->file[i].fd;
	return -1;
}

bool snapshot_owns(const struct mapping *m)
{
	return !m->shared && m->prot != PROT_NONE && m->end <= USER_END &&
	       strncmp(m->path, "[vvar", 5) != 0;
}

/* The first that ends above @addr; snapshot->count: none. */
static size_t stretch_above(const struct snapshot *snapshot, uint64_t addr)
{
	size_t low = 0, high = snapshot->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (snapshot->stretch[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* [addr, addr + size) of @m, of which nothing was copied. */
static int read_rest(struct snapshot *snapshot, const struct mapping *m,
		     uint64_t addr, uint8_t *to, size_t size)
{
	int fd = m->inode && !m->shared ? snapshot_file(snapshot, m) : -1;

	if (!m->shared && m->prot == PROT_NONE)
		return -EFAULT;
	if (!m->inode && snapshot_owns(m) && m->prot & PROT_WRITE) {
		memset(to, 0, size);
		return 0;
	}
	if (fd >= 0)
		return pread(fd, to, size,
			     (off_t)(m->offset + (addr - m->start))) ==
				       (ssize_t)size
			       ? 0
			       : -EFAULT;
	return mem_read(snapshot->process->mem, addr, to, size) < 0 ? -EFAULT
								    : 0;
}

static int read_memory(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct snapshot *snapshot = context;
	uint8_t *to = buffer;

	while (size) {
		const struct stretch *s = &snapshot->stretch[snapshot->last];
		uint64_t part;

		if (snapshot->last >= snapshot->count || addr < s->start ||
		    addr >= s->end) {
			snapshot->last = stretch_above(snapshot, addr);
			s = &snapshot->stretch[snapshot->last];
		}
		if (snapshot->last < snapshot->count && addr >= s->start) {
			part = min_u64(size, s->end - addr);
			memcpy(to, snapshot->bytes + s->at + (addr - s->start),
			       part);
		} else {
			const struct mapping *m =
				maps_find(snapshot->maps, addr);

			if (!m)
				return -EFAULT;
			part = min_u64(size, m->end - addr);
			if (snapshot->last < snapshot->count)
				part = min_u64(part, s->start - addr);
			if (read_rest(snapshot, m, addr, to, part) < 0)
				return -EFAULT;
		}
		to += part;
		addr += part;
		size -= part;
	}
	return 0;
}

struct memory snapshot_memory(struct snapshot *snapshot)
{
	return (struct memory){ .context = snapshot, .read = read_memory };
}

int snapshot_parts(const struct snapshot *snapshot, const struct mapping *m,
		   int (*visit)(void *context, uint64_t start, uint64_t end),
		   void *context)
{
	size_t i = stretch_above(snapshot, m->start);
	int r = 0;

	if (m->inode)
		return visit(context, m->start, m->end);
	while (r == 0 && i < snapshot->count &&
	       snapshot->stretch[i].start < m->end) {
		uint64_t start = snapshot->stretch[i].start, end;

		do
			end = snapshot->stretch[i++].end;
		while (i < snapshot->count && end < m->end &&
		       snapshot->stretch[i].start - end < HOLE);
		r = visit(context, max_u64(start, m->start),
			  min_u64(end, m->end));
	}
	return r;
}
