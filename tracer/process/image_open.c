/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/process/image_open.h"

enum { VDSO_MAX = 32768, PATH_ROOM = 4200 };

/* Look first, open then: the name may be a device's or a FIFO's by now. */
static int open_regular(const char *path, struct stat *st)
{
	_cleanup_(closep) int handle = open(path, O_PATH | O_CLOEXEC);
	char self[32];
	int fd;

	if (handle < 0 || fstat(handle, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -EACCES;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * On overlayfs the map may tell the device and inode of the lower file: where
 * both differ it is another view of the file, where only the inode differs
 * the file was replaced.
 */
static bool is_mapped_file(const struct mapping *m, const struct stat *st)
{
	return st->st_ino == m->inode || st->st_dev != m->device;
}

static int open_named(const char *path, const struct mapping *m,
		      struct stat *st)
{
	int fd = open_regular(path, st);

	if (fd >= 0 && !is_mapped_file(m, st)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* Its pages belong to no file. */
static int open_vdso(pid_t pid, const struct mapping *m, struct stat *st)
{
	_cleanup_(closep) int copy = -1;
	_cleanup_(closep) int mem = -1;
	size_t size = m->end - m->start;
	char bytes[VDSO_MAX], path[32];
	int fd;

	if (size > sizeof(bytes))
		return -EFBIG;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (mem < 0)
		return -errno;
	if (pread(mem, bytes, size, m->start) != (ssize_t)size)
		return -EIO;
	copy = memfd_create("vdso", MFD_CLOEXEC);
	if (copy < 0 || pwrite(copy, bytes, size, 0) != (ssize_t)size ||
	    fstat(copy, st) < 0)
		return -EIO;
	fd = copy;
	copy = -1;
	return fd;
}

int image_open(pid_t pid, const struct mapping *m, struct stat *ret)
{
	char path[PATH_ROOM];
	int fd;

	if (!m->inode)
		return open_vdso(pid, m, ret);
	/* The file itself, whatever became of its name; root may only */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%jx-%jx", pid,
		 (uintmax_t)m->start, (uintmax_t)m->end);
	fd = open_regular(path, ret);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open_regular(path, ret);
	if (fd >= 0 && ret->st_ino == m->inode && ret->st_dev == m->device)
		return fd;
	closep(&fd);
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, m->path);
	fd = open_named(path, m, ret);
	return fd >= 0 ? fd : open_named(m->path, m, ret);
}

static int check_build_id(int fd, const struct elf_layout *want)
{
	struct elf_layout layout;
	int r = elf_layout(fd, &layout);

	if (r < 0)
		return r;
	if (layout.build_id_size != want->build_id_size ||
	    memcmp(layout.build_id, want->build_id, want->build_id_size))
		return -ESTALE;
	return 0;
}

static int open_debug(const char *path, const struct elf_layout *layout)
{
	struct stat st;
	int fd = open_regular(path, &st), r;

	if (fd < 0)
		return fd;
	r = check_build_id(fd, layout);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int image_open_debug(pid_t pid, const struct elf_layout *layout)
{
	char name[2 * ELF_BUILD_ID + 64], path[sizeof(name) + 32];
	size_t at;
	int fd;

	at = snprintf(name, sizeof(name), "/usr/lib/debug/.build-id/%02x/",
		      layout->build_id[0]);
	for (unsigned i = 1; i < layout->build_id_size; i++)
		at += snprintf(name + at, sizeof(name) - at, "%02x",
			       layout->build_id[i]);
	snprintf(name + at, sizeof(name) - at, ".debug");
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, name);
	fd = open_debug(path, layout);
	return fd >= 0 ? fd : open_debug(name, layout);
}
