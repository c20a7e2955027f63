/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to tell the class of an object: of a process that stands
 * still, and for each line of standard input, "ADDR START", in nanoseconds.
 * Prints how many were told a class, and the medians: of the first question
 * after the process ran, and of one within the same stop.
 *
 *	resolve PID
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracer/component/component.h"

enum { MOST = 20000 };

struct place {
	uint64_t addr, start;
};

static struct place place[MOST];
static uint64_t first[MOST], within[MOST];

static int read_mem(void *context, uint64_t addr, void *buffer, size_t size)
{
	return pread(*(int *)context, buffer, size, (off_t)addr) ==
			       (ssize_t)size
		       ? 0
		       : -EFAULT;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t ask(struct resolver *resolver, const struct place *at,
		    bool *told)
{
	struct query query = {
		.addr = at->addr,
		.size = 8,
		.candidates = { at->start },
		.ncandidates = 1,
	};
	struct component component;
	uint64_t begin = now();

	resolver_resolve(resolver, &query, &component);
	*told = !strcmp(component.kind, "object");
	return now() - begin;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return count ? values[count / 2] : 0;
}

static int measure(struct resolver *resolver, size_t count)
{
	size_t told = 0;
	bool is_object;

	/* What is learnt once a process is not what is asked for. */
	for (size_t i = 0; i < count; i++)
		ask(resolver, &place[i], &is_object);
	for (size_t i = 0; i < count; i++) {
		resolver_epoch(resolver);
		first[told] = ask(resolver, &place[i], &is_object);
		within[told] = ask(resolver, &place[i], &is_object);
		told += is_object;
	}
	printf("%zu %ju %ju\n", told, (uintmax_t)median(first, told),
	       (uintmax_t)median(within, told));
	return told ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct resolver *resolver;
	struct symbols *symbols;
	struct error err = { 0 };
	struct maps *maps;
	struct world world;
	char path[64];
	size_t count = 0;
	int mem;
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (mem < 0 || maps_read(pid, &maps, &err) < 0 ||
	    symbols_new(pid, &symbols) < 0 || symbols_update(symbols, maps) < 0)
		return 1;
	world = (struct world){
		.pid = pid,
		.memory = { .context = &mem, .read = read_mem },
		.maps = maps,
		.symbols = symbols,
	};
	while (count < MOST && scanf("%" SCNx64 " %" SCNx64, &place[count].addr,
				     &place[count].start) == 2)
		count++;
	return resolver_new(&world, &resolver) < 0 ? 1
						   : measure(resolver, count);
}
