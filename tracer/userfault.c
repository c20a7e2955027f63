/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "tracer/process/descriptors.h"
#include "tracer/process/mem.h"
#include "tracer/process/smaps.h"
#include "tracer/userfault.h"

void userfault_look(struct session *session)
{
	const char *pattern = "anon_inode:\\[userfaultfd]";

	session->userfaults |=
		descriptors_any(process_proc(session->process), &pattern, 1);
}

/* Missing pages, protected ones, minor faults. */
static bool is_registered(const struct smaps_mapping *mapping)
{
	return smaps_has(mapping, "um") || smaps_has(mapping, "uw") ||
	       smaps_has(mapping, "ui");
}

static int refuse(void *context, const struct smaps_mapping *mapping)
{
	struct session *session = context;
	int r;

	if (!is_registered(mapping))
		return 0;
	r = ranges_add(&session->registered, mapping->start, mapping->end, 0);
	return r < 0 ? r
		     : watch_refuse(&session->watch, mapping->start,
				    mapping->end, REFUSED_USERFAULT);
}

int userfault_refuse(struct session *session)
{
	ranges_clear(&session->registered);
	if (!session->userfaults)
		return 0;
	return smaps_each(process_proc(session->process), refuse, session);
}

int userfault_enter(struct session *session, struct thread *thread,
		    const struct call *call)
{
	struct uffdio_register wanted;
	uint64_t start, end;
	int r;

	if (call->number != SYS_ioctl ||
	    (uint32_t)call->args[1] != UFFDIO_REGISTER ||
	    mem_read(session->process->mem, call->args[2], &wanted,
		     sizeof(wanted)) < 0)
		return 0;
	session->userfaults = true;
	start = wanted.range.start;
	end = start + wanted.range.len;
	if (start % PAGE || end % PAGE || start >= end)
		return 0; /* EINVAL */
	r = ranges_add(&session->registered, start, end, 0);
	return r < 0 ? r
		     : session_refuse(session, thread, start, end,
				      REFUSED_USERFAULT);
}

bool userfault_touches(const struct session *session, const struct insn *insn,
		       const struct user_regs_struct *regs)
{
	struct access access[ACCESS_MAX];
	unsigned count =
		session->registered.count ? access_of(insn, regs, access) : 0;

	for (unsigned i = 0; i < count; i++)
		if (ranges_overlap(&session->registered, access[i].addr,
				   access[i].addr + max_u64(access[i].size, 1)))
			return true;
	return false;
}

void userfault_forget(struct session *session)
{
	session->userfaults = false;
	ranges_clear(&session->registered);
}
