/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tracer/data_limit.h"
#include "tracer/process/limit.h"

static const uint64_t largest = UINT64_C(1) << 47;

/* As the map tells, which has none before there is a heap. */
static uint64_t heap_end(const struct maps *maps)
{
	for (size_t i = maps->count; i > 0; i--)
		if (strcmp(maps->mapping[i - 1].path, "[heap]") == 0)
			return maps->mapping[i - 1].end;
	return 0;
}

/* By how many bytes may the call add to what is counted, at most? */
static uint64_t growth(const struct process *process, const struct call *call)
{
	const uint64_t *a = call->args;
	uint64_t end = heap_end(process->maps);

	switch (call->number) {
	case SYS_brk:
		return a[0] > end ? a[0] - end : 0;
	case SYS_mmap:
		if (a[3] & MAP_HUGETLB)
			return largest;
		return a[2] & PROT_WRITE ? a[1] : 0;
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		return a[2] & PROT_WRITE ? a[1] : 0;
	case SYS_mremap:
		return a[2];
	default:
		return 0;
	}
}

bool data_limit_is_near(const struct session *session,
			const struct thread *thread, const struct call *call)
{
	const struct ranges *closed = &session->guard.closed;
	uint64_t more = growth(session->process, call), left, used;
	struct rlimit limit;

	if (!more || limit_get(thread->tid, RLIMIT_DATA, &limit) < 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return false;
	/* 0 means the hard limit; brk(2) always fails then. */
	left = limit.rlim_cur ? limit.rlim_cur : limit.rlim_max;
	used = process_status(thread->tid, "VmData", 10, 0) << 10;
	for (size_t i = 0; i < closed->count; i++)
		used += closed->range[i].end - closed->range[i].start;
	return used > left || page_up(min_u64(more, left)) > left - used;
}
