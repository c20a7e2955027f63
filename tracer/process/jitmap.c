/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tracer/process/jitmap.h"
#include "tracer/process/living.h"
#include "tracer/process/status.h"

enum {
	TEXT_MAX = 1 << 26,
	PIECE = 1 << 16,
	MAX_BACK = 64, /* entries below an address that may cover it */
	AGAIN_NS = 100000000,
};

void jitmap_done(struct jitmap *jitmap)
{
	buffer_done(&jitmap->text);
	free(jitmap->function);
	*jitmap = (struct jitmap){ 0 };
}

/* Somebody else's file in /tmp is nobody's word. */
static int open_map(pid_t pid, struct stat *ret)
{
	struct status status;
	char path[64];
	pid_t tid = living_thread(pid);
	int fd, r = status_read(tid, &status);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", tid,
		 status.inner_tgid);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) &&
	    (ret->st_uid == status.uid[1] || ret->st_uid == 0))
		return fd;
	close(fd);
	return -EACCES;
}

static int by_address(const void *a, const void *b)
{
	const struct jit_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* One that is not whole yet is left for the next time. */
static void add_line(struct jitmap *jitmap, char *line, size_t number)
{
	struct jit_function function = { .line = number };
	char *end;

	function.start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return;
	line = end + 1;
	function.size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !end[1])
		return;
	function.name = end + 1;
	if (jitmap->count == jitmap->allocated) {
		size_t want = max_u64(2 * jitmap->allocated, 256);
		void *p = realloc(jitmap->function,
				  want * sizeof(*jitmap->function));

		if (!p)
			return;
		jitmap->function = p;
		jitmap->allocated = want;
	}
	jitmap->function[jitmap->count++] = function;
}

static void parse(struct jitmap *jitmap)
{
	char *at = jitmap->text.data, *end = at + jitmap->text.size, *line;
	size_t number = 0;

	jitmap->count = 0;
	for (line = at; (at = memchr(line, '\n', (size_t)(end - line)));
	     line = at + 1) {
		*at = '\0';
		add_line(jitmap, line, number++);
	}
	if (jitmap->count)
		qsort(jitmap->function, jitmap->count,
		      sizeof(*jitmap->function), by_address);
}

static void load(struct jitmap *jitmap, int fd)
{
	ssize_t got = 1;

	buffer_clear(&jitmap->text);
	while (got > 0 && jitmap->text.size < TEXT_MAX) {
		char *room = buffer_room(&jitmap->text, PIECE);

		got = room ? read(fd, room, PIECE) : -1;
		if (got > 0)
			buffer_take(&jitmap->text, room + got);
	}
	jitmap->count = 0;
	if (jitmap->text.size)
		parse(jitmap);
}

bool jitmap_update(struct jitmap *jitmap, pid_t pid, uint64_t now)
{
	_cleanup_(closep) int fd = -1;
	struct stat st = { 0 };

	if (!jitmap->wanted || now - jitmap->looked_ns < AGAIN_NS)
		return false;
	jitmap->looked_ns = now;
	fd = open_map(pid, &st);
	if (fd < 0 || (st.st_size == jitmap->stat.st_size &&
		       st.st_ino == jitmap->stat.st_ino))
		return false;
	jitmap->stat = st;
	load(jitmap, fd);
	return true;
}

const struct jit_function *jitmap_at(struct jitmap *jitmap, pid_t pid,
				     uint64_t addr)
{
	const struct jit_function *best = NULL;
	size_t low = 0, high;

	if (!jitmap->wanted) {
		jitmap->wanted = true;
		jitmap_update(jitmap, pid, UINT64_MAX);
		jitmap->looked_ns = 0;
	}
	for (high = jitmap->count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (jitmap->function[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < MAX_BACK && low > 0; i++) {
		const struct jit_function *function = &jitmap->function[--low];

		if (addr - function->start < function->size &&
		    (!best || function->line > best->line))
			best = function;
	}
	return best;
}
