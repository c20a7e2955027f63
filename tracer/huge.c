/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <sys/sysmacros.h>

#include "tracer/huge.h"

enum { SMALLEST = 2 << 20 };

/* All of it is of files on no disk, whole huge pages of them. */
static bool may_be_huge(const struct mapping *m)
{
	return m->inode && major(m->device) == 0 &&
	       (m->start | m->end) % SMALLEST == 0;
}

static bool any_may_be(const struct maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		if (may_be_huge(&maps->mapping[i]))
			return true;
	return false;
}

int huge_refuse(struct watch *watch, struct process *process)
{
	uint64_t start = 0, end = 0, low, high, size;
	char path[48], line[4500]; /* with a path of 4096 bytes */
	int r = 0;

	if (!any_may_be(process->maps))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps", process_proc(process));
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	while (r == 0 && file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &low, &high) == 2) {
			start = low;
			end = high;
		} else if (sscanf(line, "KernelPageSize: %" SCNu64, &size) ==
				   1 &&
			   size > PAGE >> 10) {
			r = watch_refuse(watch, start, end, REFUSED_HUGE);
		}
	}
	return r;
}

uint64_t huge_refused(const struct watch *watch)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < watch->refused.count; i++) {
		const struct range *range = &watch->refused.range[i];

		if (range->tag == REFUSED_HUGE)
			bytes += range->end - range->start;
	}
	return bytes;
}
