/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include "tracer/process/mem.h"

int mem_open(pid_t pid, int *ret)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	*ret = open(path, O_RDWR | O_CLOEXEC);
	return *ret < 0 ? -errno : 0;
}

/*
 * The kernel says EIO both for an address that is not mapped and for a page
 * that may not be forced, EINVAL for one that no offset can name; 0 bytes mean
 * that the address space is gone.
 */
static int result(ssize_t got)
{
	if (got > 0)
		return 0;
	if (got == 0)
		return -ESRCH;
	return errno == EIO || errno == EINVAL ? -EFAULT : -errno;
}

int mem_read(int fd, uint64_t addr, void *buffer, size_t size)
{
	char *to = buffer;

	while (size > 0) {
		ssize_t got = pread(fd, to, size, (off_t)addr);
		int r = result(got);

		if (r == -EINTR)
			continue;
		if (r < 0)
			return r;
		to += got;
		addr += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

int mem_write(int fd, uint64_t addr, const void *buffer, size_t size)
{
	const char *from = buffer;

	while (size > 0) {
		ssize_t put = pwrite(fd, from, size, (off_t)addr);
		int r = result(put);

		if (r == -EINTR)
			continue;
		if (r < 0)
			return r;
		from += put;
		addr += (uint64_t)put;
		size -= (size_t)put;
	}
	return 0;
}

bool mem_read_open(pid_t pid, uint64_t addr, void *buffer, size_t size)
{
	struct iovec local = { buffer, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };

	return size > PAGE &&
	       process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool mem_write_open(pid_t pid, uint64_t addr, const void *buffer, size_t size)
{
	struct iovec local = { (void *)(uintptr_t)buffer, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };

	return size > PAGE && process_vm_writev(pid, &local, 1, &remote, 1,
						0) == (ssize_t)size;
}

int mem_open_pagemap(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool mem_is_missing(int pagemap, uint64_t start, uint64_t end)
{
	const uint64_t there = UINT64_C(3) << 62; /* present, swapped */

	for (uint64_t at = page_down(start); at < end; at += PAGE) {
		uint64_t entry;

		if (pread(pagemap, &entry, sizeof(entry),
			  (off_t)(at / PAGE * 8)) != sizeof(entry) ||
		    entry & there)
			return false;
	}
	return true;
}
