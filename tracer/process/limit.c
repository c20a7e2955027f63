/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracer/process/limit.h"

int limit_get(pid_t tid, int resource, struct rlimit *ret)
{
	return syscall(SYS_prlimit64, tid, resource, NULL, ret) < 0 ? -errno
								    : 0;
}

static bool depends_on_limits(int number)
{
	switch (number) {
	case SYS_getrlimit:
	case SYS_setrlimit:
	case SYS_prlimit64:
	case SYS_mmap:
	case SYS_brk:
	case SYS_mremap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_shmat:
		return true;
	default:
		return false;
	}
}

int limit_lend(struct limit *limit, const struct thread *thread, int resource,
	       const struct rlimit *lent)
{
	*limit = (struct limit){ .resource = resource, .lent = *lent };
	process_await_calls(thread->process, depends_on_limits);
	if (syscall(SYS_prlimit64, thread->tid, resource, lent, &limit->own) <
	    0)
		return -errno;
	limit->tid = thread->tid;
	return 0;
}

/* What another process set meanwhile stays. */
void limit_return(struct limit *limit)
{
	struct rlimit now;

	if (limit->tid &&
	    syscall(SYS_prlimit64, limit->tid, limit->resource, &limit->own,
		    &now) == 0 &&
	    memcmp(&now, &limit->lent, sizeof(now)) != 0)
		syscall(SYS_prlimit64, limit->tid, limit->resource, &now, NULL);
	limit->tid = 0;
}

/*
 * Who may not raise a hard limit can do without: mprotect_fixup() asks whether
 * the rights that the memory has now would be permitted, and if not, lets any
 * other pass.  Without address space none are.
 */
int limit_waive(struct limit *limit, const struct thread *thread)
{
	const struct rlimit endless = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit own;
	int r = limit_get(thread->tid, RLIMIT_DATA, &own);

	if (r < 0 || own.rlim_cur == RLIM_INFINITY)
		return r < 0 ? r : -ENOENT;
	r = limit_lend(limit, thread, RLIMIT_DATA, &endless);
	if (r != -EPERM)
		return r;
	r = limit_get(thread->tid, RLIMIT_AS, &own);
	own.rlim_cur = 0;
	return r < 0 ? r : limit_lend(limit, thread, RLIMIT_AS, &own);
}
