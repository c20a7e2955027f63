/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "tracer/process/maps.h"

/* vm.max_map_count is 65530 by default and at most INT_MAX. */
enum { MAX_MAPPINGS = 1 << 22 };

#define STACK_PATH "[stack]"

static bool digits(const char **text, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = *text;

	for (;; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = *p - '0';
		else if (*p >= 'a' && *p <= 'f')
			digit = *p - 'a' + 10;
		else
			break;
		if (digit >= base)
			return false;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (p == *text)
		return false;
	*text = p;
	*ret = value;
	return true;
}

static bool literal(const char **text, char c)
{
	if (**text != c)
		return false;
	++*text;
	return true;
}

static bool right(const char **text, char letter, int bit, int *prot)
{
	if (**text == letter)
		*prot |= bit;
	else if (**text != '-')
		return false;
	++*text;
	return true;
}

static bool rights(const char **text, struct mapping *mapping)
{
	if (!right(text, 'r', PROT_READ, &mapping->prot) ||
	    !right(text, 'w', PROT_WRITE, &mapping->prot) ||
	    !right(text, 'x', PROT_EXEC, &mapping->prot))
		return false;
	mapping->shared = **text == 's';
	return literal(text, 's') || literal(text, 'p');
}

/* The kernel writes a newline in a name as \012 and nothing else so. */
static char *unescape(const char *text)
{
	char *name = malloc(strlen(text) + 1), *to = name;

	if (!name)
		return NULL;
	while (*text) {
		if (!strncmp(text, "\\012", 4)) {
			*to++ = '\n';
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
	return name;
}

/* 55d0bfe00000-55d0bfe02000 r-xp 00001000 fe:01 1234    /usr/bin/shop */
static int parse_line(const char *line, struct mapping *ret)
{
	struct mapping m = { 0 };
	uint64_t major, minor;

	if (!digits(&line, 16, &m.start) || !literal(&line, '-') ||
	    !digits(&line, 16, &m.end) || !literal(&line, ' ') ||
	    !rights(&line, &m) || !literal(&line, ' ') ||
	    !digits(&line, 16, &m.offset) || !literal(&line, ' ') ||
	    !digits(&line, 16, &major) || !literal(&line, ':') ||
	    !digits(&line, 16, &minor) || !literal(&line, ' ') ||
	    !digits(&line, 10, &m.inode))
		return -EBADMSG;
	if (m.start >= m.end || m.start % PAGE || m.end % PAGE)
		return -EBADMSG;
	if (*line && *line != ' ')
		return -EBADMSG;
	m.device = makedev(major, minor);
	m.path = unescape(line + strspn(line, " "));
	if (!m.path)
		return -ENOMEM;
	*ret = m;
	return 0;
}

static int append(struct maps *maps, size_t *capacity, const char *line)
{
	struct mapping *last;
	int r;

	if (maps->count == MAX_MAPPINGS)
		return -EBADMSG;
	if (maps->count == *capacity) {
		size_t n = *capacity ? 2 * *capacity : 64;
		struct mapping *bigger =
			reallocarray(maps->mapping, n, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		maps->mapping = bigger;
		*capacity = n;
	}
	last = &maps->mapping[maps->count];
	r = parse_line(line, last);
	if (r < 0)
		return r;
	maps->count++;
	if (maps->count > 1 && last[-1].end > last->start)
		return -EBADMSG;
	return 0;
}

static bool belongs(const struct mapping *stack, const struct mapping *m)
{
	return !m->inode && !m->shared && !m->path[0] &&
	       (m->end == stack->start || m->start == stack->end);
}

static int rename_stack(struct mapping *m)
{
	char *path = strdup(STACK_PATH);

	if (!path)
		return -ENOMEM;
	free(m->path);
	m->path = path;
	return 0;
}

/*
 * Of a stack that lies in pieces, with rights of their own, the kernel names
 * the one where it began.  Nothing else is mapped next to it: there is a gap.
 */
static int name_stack(struct maps *maps)
{
	struct mapping *m = maps->mapping, *stop = m + maps->count, *first;
	int r = 0;

	while (m < stop && strcmp(m->path, STACK_PATH) != 0)
		m++;
	first = m;
	for (; r == 0 && m < stop && m + 1 < stop && belongs(m, m + 1); m++)
		r = rename_stack(m + 1);
	for (m = first;
	     r == 0 && m < stop && m > maps->mapping && belongs(m, m - 1); m--)
		r = rename_stack(m - 1);
	return r;
}

int maps_parse(FILE *file, struct maps **ret, struct error *err)
{
	_cleanup_(maps_freep) struct maps *maps = calloc(1, sizeof(*maps));
	_cleanup_(freep) char *line = NULL;
	size_t room = 0, capacity = 0;
	ssize_t size;
	int r;

	if (!maps)
		return error_set(err, -ENOMEM, "no memory for a memory map");
	while ((size = getline(&line, &room, file)) > 0) {
		if (line[size - 1] == '\n')
			line[--size] = '\0';
		r = strlen(line) == (size_t)size ? append(maps, &capacity, line)
						 : -EBADMSG;
		if (r < 0)
			return error_set(err, r,
					 "the memory map has a line that is "
					 "not understood: %.200s",
					 line);
	}
	/* /proc/PID/maps of a process that is gone gives ESRCH, or nothing. */
	if (ferror(file))
		return error_set(err, -EIO, "the memory map cannot be read");
	if (name_stack(maps) < 0)
		return error_set(err, -ENOMEM, "no memory for a memory map");
	*ret = take(maps);
	return 0;
}

int maps_read(pid_t pid, struct maps **ret, struct error *err)
{
	_cleanup_(fclosep) FILE *file = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file) {
		int r = errno == ENOENT ? -ESRCH : -errno;

		return error_set(err, r, "%s cannot be opened", path);
	}
	return maps_parse(file, ret, err);
}

void maps_free(struct maps *maps)
{
	if (!maps)
		return;
	for (size_t i = 0; i < maps->count; i++)
		free(maps->mapping[i].path);
	free(maps->mapping);
	free(maps);
}

const struct mapping *maps_above(const struct maps *maps, uint64_t addr)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->mapping[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < maps->count ? &maps->mapping[low] : NULL;
}

const struct mapping *maps_stack(const struct maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		if (strcmp(maps->mapping[i].path, STACK_PATH) == 0)
			return &maps->mapping[i];
	return NULL;
}

const struct mapping *maps_find(const struct maps *maps, uint64_t addr)
{
	const struct mapping *mapping = maps_above(maps, addr);

	return mapping && mapping->start <= addr ? mapping : NULL;
}

bool maps_constant(const struct maps *maps, const struct mapping *m)
{
	if (!m->inode || m->shared || m->prot & PROT_WRITE ||
	    strncmp(m->path, "/memfd:", 7) == 0)
		return false;
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *other = &maps->mapping[i];

		if (other->shared && other->inode == m->inode &&
		    other->device == m->device)
			return false;
	}
	return true;
}
