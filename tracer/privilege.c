/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "tracer/privilege.h"
#include "tracer/process/status.h"

static bool ids_missed(const char *path, pid_t pid)
{
	const mode_t gid_bits = S_ISGID | S_IXGRP;
	struct status status;
	struct stat st;

	if (stat(path, &st) < 0 || status_read(pid, &status) < 0)
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != status.uid[1]) ||
	       ((st.st_mode & gid_bits) == gid_bits &&
		st.st_gid != status.gid[1]);
}

static bool capabilities_missed(const char *path, pid_t pid)
{
	struct vfs_ns_cap_data data = { 0 };
	uint64_t wanted;

	if (getxattr(path, "security.capability", &data, sizeof(data)) <
	    (ssize_t)XATTR_CAPS_SZ_2)
		return false;
	wanted = data.data[0].permitted | (uint64_t)data.data[1].permitted
						  << 32;
	return wanted & process_status(pid, "CapBnd", 16, 0) &
	       ~process_status(pid, "CapPrm", 16, 0);
}

/* Not because of us: a mount or the program's ancestors may forbid it. */
static bool is_forbidden(const char *path, pid_t pid)
{
	struct statvfs fs;

	return statvfs(path, &fs) < 0 || fs.f_flag & ST_NOSUID ||
	       process_status(pid, "NoNewPrivs", 10, 0);
}

void privilege_look(struct session *session)
{
	pid_t pid = process_proc(session->process);
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	session->unprivileged =
		(ids_missed(path, pid) || capabilities_missed(path, pid)) &&
		!is_forbidden(path, pid);
	if (session->log->began)
		privilege_tell(session);
}

void privilege_tell(struct session *session)
{
	if (!session->unprivileged)
		return;
	session->unprivileged = false;
	report_warning(session,
		       "process %d runs a set-user-ID or set-group-ID "
		       "program, or one with file capabilities, without these "
		       "rights: the kernel gives them to nobody whose tracer "
		       "has no CAP_SYS_PTRACE; run this with sudo",
		       session->process->pid);
}
