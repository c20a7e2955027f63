/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fnmatch.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/fault.h"
#include "tracer/rewrites.h"

static void closedirp(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static void look_at(struct session *session, int directory, const char *name)
{
	char link[64];
	ssize_t size = readlinkat(directory, name, link, sizeof(link) - 1);

	link[size > 0 ? size : 0] = '\0';
	if (fnmatch("/proc/*/mem", link, 0) != 0)
		return;
	session->rewrites = true;
	fault_forget(session);
}

void rewrites_look(struct session *session)
{
	_cleanup_(closedirp) DIR *directory = NULL;
	struct dirent *entry;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/fd", session->process->proc);
	directory = opendir(path);
	while (directory && !session->rewrites && (entry = readdir(directory)))
		look_at(session, dirfd(directory), entry->d_name);
}

void rewrites_after(struct session *session, int number, int64_t result)
{
	char path[64];

	if (session->rewrites || result < 0 ||
	    (number != SYS_open && number != SYS_openat &&
	     number != SYS_openat2 && number != SYS_creat))
		return;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", session->process->proc,
		 (int)result);
	look_at(session, -1, path);
}
