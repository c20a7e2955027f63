/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/directory.h"
#include "tracer/process/living.h"
#include "tracer/process/process.h"

/*
 * The program is a property of the memory, which a thread gives up before it
 * is a zombie.  Who may not ask for it sees the state at least.
 */
bool living(pid_t tid)
{
	char path[48], link[1];

	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	if (readlink(path, link, sizeof(link)) < 0 &&
	    (errno == ENOENT || errno == ESRCH))
		return false;
	return !thread_is_in_state(tid, "ZX");
}

pid_t living_thread(pid_t pid)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	struct dirent *entry;
	char path[48];

	if (living(pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && living(tid))
			return tid;
	}
	return 0;
}
