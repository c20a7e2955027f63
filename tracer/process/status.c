/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tracer/process/status.h"

/* PF_KTHREAD, of the kernel's sched.h; the flags of stat tell it: proc(5) */
#define KERNEL_THREAD 0x00200000UL

/* One number for each namespace, from outside in. */
static pid_t innermost(const char *line)
{
	return (pid_t)strtol(strrchr(line, '\t') + 1, NULL, 10);
}

static void status_line(struct status *ret, const char *line)
{
	uid_t *u = ret->uid;
	gid_t *g = ret->gid;

	/* Lines of other keys set nothing. */
	sscanf(line, "Name: %63[^\n]", ret->name);
	sscanf(line, "State: %c", &ret->state);
	sscanf(line, "Tgid: %d", &ret->tgid);
	sscanf(line, "TracerPid: %d", &ret->tracer);
	sscanf(line, "Uid: %u %u %u %u", &u[0], &u[1], &u[2], &u[3]);
	sscanf(line, "Gid: %u %u %u %u", &g[0], &g[1], &g[2], &g[3]);
	sscanf(line, "CapEff: %" SCNx64, &ret->capabilities);
	sscanf(line, "Seccomp: %d", &ret->seccomp);
	if (!strncmp(line, "NSpid:\t", 7))
		ret->inner = innermost(line);
	if (!strncmp(line, "NStgid:\t", 8))
		ret->inner_tgid = innermost(line);
	if (!strncmp(line, "x86_Thread_features:", 20))
		ret->shadow_stack = strstr(line, "shstk");
}

static FILE *proc_open(pid_t pid, const char *name)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

static int read_flags(pid_t pid, unsigned long *ret)
{
	_cleanup_(fclosep) FILE *file = proc_open(pid, "stat");
	char line[1024];
	const char *end;

	if (!file)
		return -errno;
	if (!fgets(line, sizeof(line), file))
		return -ESRCH;
	/* The name in it may hold spaces and brackets: go from its last. */
	end = strrchr(line, ')');
	if (!end || sscanf(end, ") %*c %*d %*d %*d %*d %*d %lu", ret) != 1)
		return -EBADMSG;
	return 0;
}

int status_read(pid_t pid, struct status *ret)
{
	_cleanup_(fclosep) FILE *file = proc_open(pid, "status");
	unsigned long flags;
	char line[1024];
	int r;

	*ret = (struct status){ 0 };
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		status_line(ret, line);
	if (ferror(file) || !ret->tgid)
		return -ESRCH;
	r = read_flags(pid, &flags);
	if (r < 0)
		return r;
	ret->kernel_thread = flags & KERNEL_THREAD;
	return 0;
}

/* The last of them comes last. */
int status_signals(pid_t tid, struct status_signals *ret)
{
	const struct {
		const char *key;
		uint64_t *value;
	} keys[] = {
		{ "SigPnd:", &ret->pending }, { "ShdPnd:", &ret->shared },
		{ "SigBlk:", &ret->blocked }, { "SigIgn:", &ret->ignored },
		{ "SigCgt:", &ret->caught },
	};
	_cleanup_(fclosep) FILE *file = proc_open(tid, "status");
	size_t at = 0, length = strlen(keys[0].key);
	char line[1024];

	*ret = (struct status_signals){ 0 };
	if (!file)
		return -errno;
	while (at < ARRAY_SIZE(keys) && fgets(line, sizeof(line), file))
		if (strncmp(line, keys[at].key, length) == 0)
			*keys[at++].value = strtoull(line + length, NULL, 16);
	return at == ARRAY_SIZE(keys) ? 0 : -ESRCH;
}
