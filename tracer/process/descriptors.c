/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/macro.h"
#include "tracer/process/descriptors.h"

static bool matches(int directory, const char *name,
		    const char *const patterns[], size_t count)
{
	char link[64];
	ssize_t size = readlinkat(directory, name, link, sizeof(link) - 1);

	link[size > 0 ? size : 0] = '\0';
	for (size_t i = 0; i < count; i++)
		if (fnmatch(patterns[i], link, 0) == 0)
			return true;
	return false;
}

static DIR *open_directory(pid_t pid)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	return opendir(path);
}

bool descriptors_any(pid_t pid, const char *const patterns[], size_t count)
{
	_cleanup_(closedirp) DIR *directory = open_directory(pid);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (matches(dirfd(directory), entry->d_name, patterns, count))
			return true;
	return false;
}

int descriptors_each(pid_t pid, const char *pattern,
		     int (*visit)(void *context, int fd), void *context)
{
	_cleanup_(closedirp) DIR *directory = open_directory(pid);
	struct dirent *entry;
	int r = 0;

	while (r == 0 && directory && (entry = readdir(directory)))
		if (matches(dirfd(directory), entry->d_name, &pattern, 1))
			r = visit(context, atoi(entry->d_name));
	return r;
}

bool descriptors_match(pid_t pid, int fd, const char *pattern)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return matches(-1, path, &pattern, 1);
}
