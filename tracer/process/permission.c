/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "tracer/process/living.h"
#include "tracer/process/permission.h"
#include "tracer/process/program.h"
#include "tracer/process/status.h"

/* "mysql (uid 105)"; a uid of another container has no name. */
static void user_name(uid_t uid, char *ret, size_t size)
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(ret, size, "%.64s (uid %u)", user->pw_name, uid);
	else
		snprintf(ret, size, "uid %u", uid);
}

static int explain_traced(pid_t pid, const struct status *target,
			  struct error *err)
{
	struct status tracer;

	if (status_read(target->tracer, &tracer) < 0)
		strcpy(tracer.name, "unknown");
	return error_set(
		err, -EPERM,
		"process %d (%s) is already traced by %s (pid %d), and "
		"a process has one tracer at a time: end that one "
		"first",
		pid, target->name, tracer.name, target->tracer);
}

static int explain_kind(pid_t pid, const struct status *target,
			struct error *err)
{
	_cleanup_(closep) int fd = -1;
	const char *why;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", living_thread(pid));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	why = fd < 0 ? NULL : program_unsuitable(fd);
	if (why)
		return error_set(err, -ENOEXEC,
				 "process %d (%s) %s: only 64-bit x86-64 "
				 "programs can be traced",
				 pid, target->name, why);
	return 0;
}

/* What no permission changes. */
static int explain_certain(pid_t pid, const struct status *target,
			   struct error *err)
{
	if (target->tgid == getpid())
		return error_set(err, -EINVAL,
				 "process %d is this tracer itself", pid);
	if (target->tgid != pid)
		return error_set(err, -EINVAL,
				 "%d is a thread (%s) of process %d: name the "
				 "process, all of its threads are traced",
				 pid, target->name, target->tgid);
	if (target->state == 'Z' || target->state == 'X')
		return error_set(err, -ESRCH,
				 "process %d (%s) has ended already: it is a "
				 "zombie that its parent did not wait for",
				 pid, target->name);
	if (target->kernel_thread)
		return error_set(err, -EPERM,
				 "process %d (%s) is a thread of the kernel, "
				 "which nobody can trace",
				 pid, target->name);
	if (target->tracer)
		return explain_traced(pid, target, err);
	return explain_kind(pid, target, err);
}

/* ptrace(2) compares our real ids with all three of the target's. */
static bool same_ids(const struct status *target)
{
	bool same = true;

	for (int i = 0; i < 3; i++)
		same = same && target->uid[i] == getuid() &&
		       target->gid[i] == getgid();
	return same;
}

static int explain_ids(pid_t pid, const struct status *target,
		       struct error *err)
{
	char theirs[96], ours[96];

	if (!geteuid())
		return error_set(err, -EPERM,
				 "you are root, but without CAP_SYS_PTRACE, "
				 "which containers drop: start the container "
				 "with --cap-add=SYS_PTRACE");
	user_name(target->uid[1], theirs, sizeof(theirs));
	user_name(getuid(), ours, sizeof(ours));
	if (target->uid[0] != target->uid[1] || target->uid[0] == getuid())
		return error_set(err, -EPERM,
				 "process %d (%s) runs a set-user-ID or "
				 "set-group-ID program with the rights of %s: "
				 "run this with sudo",
				 pid, target->name, theirs);
	return error_set(err, -EPERM,
			 "process %d (%s) belongs to %s, and you are %s: run "
			 "this with sudo, or as that user",
			 pid, target->name, theirs, ours);
}

/* 0: it has no objection, or is not there. */
static int explain_yama(const char *path, bool capable, struct error *err)
{
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	int scope = file ? getc(file) - '0' : 0;

	if (scope == 3)
		return error_set(
			err, -EPERM,
			"%s is 3: tracing is switched off on this "
			"machine until it is started anew with another "
			"kernel.yama.ptrace_scope",
			path);
	if (scope == 2 && !capable)
		return error_set(err, -EPERM,
				 "%s is 2: only root may trace: run this with "
				 "sudo",
				 path);
	if (scope == 1 && !capable)
		return error_set(err, -EPERM,
				 "%s is 1: a running process may be traced by "
				 "its own ancestors and root only: run this "
				 "with sudo, or 'sudo sysctl "
				 "kernel.yama.ptrace_scope=0', or start the "
				 "program under clsrun",
				 path);
	return 0;
}

static bool other_user_namespace(pid_t pid)
{
	char path[48], theirs[64] = "", ours[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/user", living_thread(pid));
	return readlink(path, theirs, sizeof(theirs) - 1) > 0 &&
	       readlink("/proc/self/ns/user", ours, sizeof(ours) - 1) > 0 &&
	       strcmp(theirs, ours);
}

/* Files (not directories) below /proc/PID are root's then: proc(5). */
static bool is_dumpable(pid_t pid, const struct status *target)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", living_thread(pid));
	return stat(path, &st) < 0 || st.st_uid == target->uid[1];
}

/* What remains when neither ids nor Yama are the reason. */
static int explain_rest(pid_t pid, const struct status *target,
			const struct status *self, bool capable,
			struct error *err)
{
	if (other_user_namespace(pid))
		return error_set(err, -EPERM,
				 "process %d (%s) is in another user namespace "
				 "(a container's), where you have no rights: "
				 "run this as root outside of it",
				 pid, target->name);
	if (!capable && !is_dumpable(pid, target))
		return error_set(err, -EPERM,
				 "process %d (%s) protects its memory (it is "
				 "not dumpable), so that CAP_SYS_PTRACE is "
				 "needed: run this with sudo",
				 pid, target->name);
	if (self->seccomp == SECCOMP_MODE_FILTER)
		return error_set(err, -EPERM,
				 "a seccomp filter, as of a container, forbids "
				 "ptrace: start the container with "
				 "--cap-add=SYS_PTRACE or --security-opt "
				 "seccomp=unconfined");
	if (!capable)
		return error_set(err, -EPERM,
				 "the kernel does not let you trace process %d "
				 "(%s), and CAP_SYS_PTRACE is missing: run "
				 "this with sudo",
				 pid, target->name);
	return error_set(err, -EPERM,
			 "a security module of the kernel (AppArmor, SELinux "
			 "...) forbids to trace process %d (%s): its log, see "
			 "dmesg, tells the rule",
			 pid, target->name);
}

static int explain_denied(pid_t pid, const struct status *target,
			  const char *yama_path, struct error *err)
{
	struct status self;
	bool capable;
	int r;

	r = status_read(getpid(), &self);
	if (r < 0)
		return error_set(err, r, "/proc/self/status: %s", strerror(-r));
	capable = self.capabilities & (UINT64_C(1) << CAP_SYS_PTRACE);
	if (!capable && !same_ids(target))
		return explain_ids(pid, target, err);
	r = explain_yama(yama_path, capable, err);
	if (r < 0)
		return r;
	return explain_rest(pid, target, &self, capable, err);
}

static int explain_unseen(pid_t pid, int number, struct error *err)
{
	/* With hidepid= of proc(5) a process is there but not in /proc. */
	if (pid > 0 && (!kill(pid, 0) || errno == EPERM))
		return error_set(err, -EPERM,
				 "process %d is hidden from you in /proc (%s): "
				 "run this with sudo",
				 pid, strerror(-number));
	return error_set(err, -ESRCH, "there is no process %d", pid);
}

/* A first thread that has ended says nothing of those that live. */
static int read_target(pid_t pid, struct status *ret)
{
	int r = pid > 0 ? status_read(pid, ret) : -ESRCH;
	pid_t tid = r == 0 && ret->state == 'Z' ? living_thread(pid) : 0;
	struct status other;

	if (tid && status_read(tid, &other) == 0)
		*ret = other;
	return r;
}

int permission_explain(pid_t pid, int number, const char *yama_path,
		       struct error *err)
{
	struct status target;
	int r;

	r = read_target(pid, &target);
	r = r < 0 ? explain_unseen(pid, r, err)
		  : explain_certain(pid, &target, err);
	if (r < 0 || !number)
		return number ? number : r;

	if (number == -EPERM || number == -EACCES)
		explain_denied(pid, &target, yama_path, err);
	else if (number == -ESRCH)
		error_set(err, number, "process %d (%s) ended just now", pid,
			  target.name);
	else
		error_set(err, number, "process %d (%s) cannot be traced: %s",
			  pid, target.name, strerror(-number));
	return number;
}
