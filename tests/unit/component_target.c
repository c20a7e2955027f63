/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/unit/component_target.h"

static int read_mem(void *context, uint64_t addr, void *buffer, size_t size)
{
	const struct target *target = context;

	return pread(target->mem, buffer, size, addr) == (ssize_t)size
		       ? 0
		       : -EFAULT;
}

static int spawn(struct target *target, const char *path)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	target->pid = fork();
	if (target->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	target->input = in[1];
	target->output = fdopen(out[0], "r");
	return target->pid < 0 ? -errno : 0;
}

static int read_claims(FILE *file, struct claim *claim, int max)
{
	char line[1024];
	int count = 0;

	while (fgets(line, sizeof(line), file)) {
		struct claim *c = &claim[count];
		int fields;

		if (!strcmp(line, "end\n"))
			return count;
		if (count == max)
			return -E2BIG;
		c->member[0] = '\0';
		fields = sscanf(line,
				"%31[^\t]\t%255[^\t]\t%" SCNx64 "\t%" SCNx64
				"\t%" SCNx64 "\t%d\t%127[^\n]",
				c->kind, c->name, &c->addr, &c->base, &c->start,
				&c->confidence, c->member);
		if (fields < 6)
			return -EBADMSG;
		count++;
	}
	return -EPIPE;
}

int target_start(struct target *target, const char *path, struct claim *claim,
		 int max)
{
	struct error err = { 0 };
	char name[32];
	int count, r;

	*target = (struct target){ .mem = -1, .input = -1 };
	r = spawn(target, path);
	if (r < 0)
		return r;
	count = read_claims(target->output, claim, max);
	if (count < 0)
		return count;
	snprintf(name, sizeof(name), "/proc/%d/mem", target->pid);
	target->mem = open(name, O_RDONLY | O_CLOEXEC);
	r = maps_read(target->pid, &target->maps, &err);
	if (r < 0)
		return r;
	r = symbols_new(target->pid, &target->symbols);
	if (r < 0)
		return r;
	r = symbols_update(target->symbols, target->maps);
	if (r < 0)
		return r;
	target->world = (struct world){
		.pid = target->pid,
		.memory = { .context = target, .read = read_mem },
		.maps = target->maps,
		.symbols = target->symbols,
	};
	return count;
}

void target_stop(struct target *target)
{
	if (target->pid > 0) {
		kill(target->pid, SIGKILL);
		waitpid(target->pid, NULL, 0);
	}
	symbols_free(target->symbols);
	maps_free(target->maps);
	closep(&target->mem);
	closep(&target->input);
	fclosep(&target->output);
}
