/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tracer/process/smaps.h"

/* The last line of each mapping is that of its flags. */
int smaps_parse(FILE *file,
		int (*visit)(void *context,
			     const struct smaps_mapping *mapping),
		void *context)
{
	static const char flags[] = "VmFlags:";
	struct smaps_mapping mapping = { 0 };
	_cleanup_(freep) char *line = NULL;
	uint64_t start, end, size;
	size_t room = 0;
	int r = 0;

	while (r == 0 && getline(&line, &room, file) > 0) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) ==
		    2) {
			mapping = (struct smaps_mapping){ .start = start,
							  .end = end };
		} else if (sscanf(line, "KernelPageSize: %" SCNu64, &size) ==
			   1) {
			mapping.page = size << 10;
		} else if (strncmp(line, flags, sizeof(flags) - 1) == 0) {
			mapping.flags = line + sizeof(flags) - 1;
			r = visit(context, &mapping);
		}
	}
	return r;
}

int smaps_each(pid_t pid,
	       int (*visit)(void *context, const struct smaps_mapping *mapping),
	       void *context)
{
	_cleanup_(fclosep) FILE *file = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	return smaps_parse(file, visit, context);
}

bool smaps_has(const struct smaps_mapping *mapping, const char *flag)
{
	const char *at = mapping->flags;

	while ((at = strchr(at, ' '))) {
		at++;
		if (at[0] == flag[0] && at[0] && at[1] == flag[1])
			return true;
	}
	return false;
}
