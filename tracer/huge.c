/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/sysmacros.h>

#include "tracer/huge.h"
#include "tracer/process/smaps.h"

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

static int refuse_large(void *watch, const struct smaps_mapping *mapping)
{
	return mapping->page <= PAGE ? 0
				     : watch_refuse(watch, mapping->start,
						    mapping->end, REFUSED_HUGE);
}

int huge_refuse(struct watch *watch, struct process *process)
{
	if (!any_may_be(process->maps))
		return 0;
	return smaps_each(process_proc(process), refuse_large, watch);
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
