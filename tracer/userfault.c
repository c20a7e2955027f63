/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/process/descriptors.h"
#include "tracer/process/mem.h"
#include "tracer/userfault.h"

void userfault_look(struct session *session)
{
	const char *pattern = "anon_inode:\\[userfaultfd]";

	session->userfaults |=
		descriptors_any(process_proc(session->process), &pattern, 1);
}

static int refuse(struct session *session, uint64_t start, uint64_t end)
{
	int r = ranges_add(&session->registered, start, end, 0);

	return r < 0 ? r
		     : watch_refuse(&session->watch, start, end,
				    REFUSED_USERFAULT);
}

/* " um": missing pages, " uw": protected ones, " ui": minor faults. */
static bool is_registered(const char *flags)
{
	static const char prefix[] = "VmFlags:";

	return strncmp(flags, prefix, sizeof(prefix) - 1) == 0 &&
	       (strstr(flags, " um") || strstr(flags, " uw") ||
		strstr(flags, " ui"));
}

int userfault_refuse(struct session *session)
{
	uint64_t start = 0, end = 0;
	char path[48];
	_cleanup_(freep) char *line = NULL;
	size_t size = 0;
	int r = 0;

	ranges_clear(&session->registered);
	if (!session->userfaults)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps",
		 process_proc(session->process));
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	while (r == 0 && file && getline(&line, &size, file) > 0) {
		uint64_t low, high;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &low, &high) ==
		    2) {
			start = low;
			end = high;
		} else if (is_registered(line)) {
			r = refuse(session, start, end);
		}
	}
	return r;
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
