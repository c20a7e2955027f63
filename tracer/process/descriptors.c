/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <stdio.h>
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

bool descriptors_any(pid_t pid, const char *const patterns[], size_t count)
{
	_cleanup_(closedirp) DIR *directory = NULL;
	struct dirent *entry;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)))
		if (matches(dirfd(directory), entry->d_name, patterns, count))
			return true;
	return false;
}

bool descriptors_match(pid_t pid, int fd, const char *pattern)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return matches(-1, path, &pattern, 1);
}
