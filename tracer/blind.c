/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/blind.h"
#include "tracer/session.h"

static bool is_shared(const struct session *session)
{
	const struct ranges *pages = &session->guard.pages;
	const struct maps *maps = session->process->maps;
	const struct mapping *m, *stop = maps->mapping + maps->count;

	for (size_t i = 0; i < pages->count; i++) {
		m = maps_above(maps, pages->range[i].start);
		for (; m && m < stop && m->start < pages->range[i].end; m++)
			if (m->shared)
				return true;
	}
	return false;
}

unsigned blind_list(const struct session *session, const char *ret[BLIND_MOST])
{
	unsigned count = 0;

	/* Page protection binds the program's own threads only. */
	ret[count++] = "by other processes, through /proc/PID/mem or ptrace";
	ret[count++] = "by other processes, through process_vm_readv or "
		       "process_vm_writev, which may fail";
	ret[count++] = "by devices, io_uring and asynchronous I/O, into "
		       "buffers that are not found and refused";
	if (is_shared(session))
		ret[count++] = "by other processes, or through another "
			       "mapping, of memory that is shared";
	if (session->policy == POLICY_SAMPLE)
		ret[count++] = "between slices, and after the first of each "
			       "page in one";
	if (session->policy == POLICY_FIRST)
		ret[count++] = "after the first of each page";
	if (session->options->no_syscalls)
		ret[count++] = "by system calls";
	return count;
}
