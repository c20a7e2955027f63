/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/process/image.h"
#include "tracer/process/image_open.h"
#include "tracer/process/living.h"
#include "tracer/process/minidebug.h"

/* Beyond this a table is read at once, so that its descriptor can go. */
enum { MAX_LAZY = 256 };

static bool is_of(const struct image *image, const struct mapping *m)
{
	return image->inode == m->inode && image->device == m->device;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static unsigned lazy(const struct image *list)
{
	unsigned count = 0;

	for (; list; list = list->next)
		count += list->fd >= 0;
	return count;
}

static int image_new(struct images *images, const struct mapping *m, int fd,
		     const struct stat *st, struct image **ret)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image) {
		closep(&fd);
		return -ENOMEM;
	}
	image->device = m->device;
	image->inode = m->inode;
	image->stat = *st;
	image->snapshot = images->snapshot;
	image->pid = images->pid;
	image->fd = fd;
	image->is_elf = fd >= 0 && elf_layout(fd, &image->layout) == 0;
	if (!image->is_elf) {
		closep(&image->fd);
		image->fd = -1;
	}
	image->next = images->first;
	images->first = image;
	if (image->is_elf && lazy(images->first) > MAX_LAZY)
		image_table(image);
	*ret = image;
	return 0;
}

/* One that stayed mapped since the last snapshot, or was seen in this one. */
static struct image *still_mapped(struct images *images,
				  const struct mapping *m)
{
	struct image *image;

	for (image = images->first; image; image = image->next)
		if (is_of(image, m) && images->snapshot - image->snapshot <= 1)
			break;
	return image;
}

/* Inode numbers come back: it is the old file only if all agrees. */
static struct image *again_mapped(struct images *images,
				  const struct mapping *m,
				  const struct stat *st)
{
	struct image *image;

	for (image = images->first; image; image = image->next)
		if (is_of(image, m) && same_file(&image->stat, st))
			break;
	return image;
}

int image_of(struct images *images, const struct mapping *mapping,
	     struct image **ret)
{
	struct image *image = still_mapped(images, mapping);
	struct stat st = { 0 };
	int fd;

	if (!image) {
		fd = image_open(images->pid, mapping, &st);
		if (fd >= 0)
			image = again_mapped(images, mapping, &st);
		if (!image)
			return image_new(images, mapping, fd, &st, ret);
		close(fd);
	}
	image->snapshot = images->snapshot;
	*ret = image;
	return 0;
}

void images_follow(struct images *images, pid_t tid)
{
	images->pid = tid;
	for (struct image *image = images->first; image; image = image->next)
		image->pid = tid;
}

void images_free(struct images *images)
{
	while (images->first) {
		struct image *image = images->first;

		images->first = image->next;
		closep(&image->fd);
		elf_table_done(&image->table);
		types_free(image->types);
		lines_free(image->lines);
		free(image->buckets);
		free(image);
	}
}

/* Of a stripped file the functions that it does not export. */
static void read_minidebug(struct elf_table *table, int fd)
{
	_cleanup_(closep) int mini = minidebug_open(fd);

	if (mini >= 0)
		(void)!elf_table_read(table, mini);
}

static void load(struct image *image)
{
	_cleanup_(closep) int debug = -1;
	struct elf_table *table = &image->table;

	/* What was read until an error is still true. */
	if (elf_table_read(table, image->fd) == 0 && !table->symtab &&
	    image->layout.build_id_size)
		/* That a leader has ended nobody told. */
		debug = image_open_debug(living_thread(image->pid),
					 &image->layout);
	if (debug >= 0 && elf_table_read(table, debug) == 0)
		table->symtab = true;
	if (!table->symtab)
		read_minidebug(table, image->fd);
	elf_table_sort(table);
	if (debug >= 0) {
		closep(&image->fd);
		image->fd = debug;
		debug = -1;
	}
	image->lines = lines_open(image->fd);
	image->fd = -1;
}

struct lines *image_lines(struct image *image)
{
	image_table(image);
	return image->lines;
}

struct types *image_types(struct image *image)
{
	struct lines *lines = image->types ? NULL : image_lines(image);
	struct Dwarf *dwarf = lines ? lines_dwarf(lines) : NULL;

	if (dwarf)
		image->types = types_new(dwarf);
	return image->types;
}

const struct elf_table *image_table(struct image *image)
{
	if (!image->loaded && image->is_elf)
		load(image);
	image->loaded = true;
	return &image->table;
}

/* FNV-1a */
static uint32_t hash(const char *name)
{
	uint32_t value = 2166136261u;

	for (; *name; name++)
		value = (value ^ (unsigned char)*name) * 16777619u;
	return value;
}

static bool build_index(struct image *image)
{
	const struct elf_table *table = image_table(image);
	uint32_t size = 16;

	if (image->buckets)
		return true;
	if (!table->count || table->count > UINT32_MAX / 4)
		return false;
	while (size < 2 * table->count)
		size *= 2;
	image->buckets = calloc(size, sizeof(*image->buckets));
	if (!image->buckets)
		return false;
	image->mask = size - 1;
	for (size_t i = 0; i < table->count; i++) {
		uint32_t at = hash(table->entry[i].name) & image->mask;

		while (image->buckets[at])
			at = (at + 1) & image->mask;
		image->buckets[at] = i + 1;
	}
	return true;
}

ssize_t image_named(struct image *image, const char *name, uint32_t *position)
{
	uint32_t at;

	if (!build_index(image))
		return -ENOENT;
	/* Never full: half of the buckets at least are empty. */
	while ((at = image->buckets[(hash(name) + *position) & image->mask])) {
		++*position;
		if (!strcmp(image->table.entry[at - 1].name, name))
			return at - 1;
	}
	return -ENOENT;
}
