/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/*
 * System calls that fill small structs, and ones that read paths: into
 * watched memory and into other memory, with the same answer.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "tests/targets/target.h"

struct answers {
	char path[256], link[256], cwd[4096];
	struct stat stat;
	struct utsname name;
	struct rlimit limit;
	struct timeval time;
	struct timespec resolution;
	unsigned char random[32];
	char entries[1024];
	gid_t groups[64];
};

static struct answers box, other;

static int ask(struct answers *a)
{
	int ok = 0, fd;

	strcpy(a->path, "/");
	ok += getcwd(a->cwd, sizeof(a->cwd)) != NULL;
	ok += stat(a->path, &a->stat) == 0;
	ok += uname(&a->name) == 0;
	ok += getrlimit(RLIMIT_NOFILE, &a->limit) == 0;
	ok += gettimeofday(&a->time, NULL) == 0;
	ok += clock_getres(CLOCK_MONOTONIC, &a->resolution) == 0;
	ok += readlink("/proc/self/exe", a->link, sizeof(a->link)) > 0;
	ok += getrandom(a->random, sizeof(a->random), 0) == sizeof(a->random);
	fd = open(a->path, O_RDONLY | O_DIRECTORY);
	ok += fd >= 0;
	ok += getdents64(fd, a->entries, sizeof(a->entries)) > 0;
	ok += getgroups(64, a->groups) >= 0;
	close(fd);
	strcpy(a->path, "/nowhere");
	ok += access(a->path, F_OK) == -1;
	return ok;
}

int main(void)
{
	int watched = ask(&box);

	printf("%d %d\n", watched, ask(&other));
	printf("%d %d %d %d %d %d\n", !strcmp(box.cwd, other.cwd),
	       box.stat.st_ino == other.stat.st_ino,
	       !memcmp(&box.name, &other.name, sizeof(box.name)),
	       box.limit.rlim_cur == other.limit.rlim_cur,
	       other.time.tv_sec - box.time.tv_sec < 60,
	       !memcmp(&box.resolution, &other.resolution,
		       sizeof(box.resolution)));
	printf("%d %d %d\n", !strcmp(box.link, other.link),
	       memcmp(box.random, other.random, 32) != 0,
	       !memcmp(box.entries, other.entries, sizeof(box.entries)));
	return 0;
}
