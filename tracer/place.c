/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "tracer/place.h"
#include "tracer/process/mem.h"
#include "tracer/process/rseq.h"

enum { LOOK_EVERY = 64, CPU_ID = 4 /* offset in struct rseq */ };

/* The kernel keeps the number in the thread's rseq area; -1: it has none. */
static int cpu_of(struct thread *thread)
{
	uint64_t area = rseq_area(thread);
	uint32_t cpu;

	if (!area || mem_read(thread->process->mem, area + CPU_ID, &cpu,
			      sizeof(cpu)) < 0)
		return -1;
	return cpu < CPU_SETSIZE ? (int)cpu : -1;
}

void place_follow(struct place *place, struct thread *thread)
{
	cpu_set_t set;
	int cpu;

	if (place->stops++ % LOOK_EVERY)
		return;
	cpu = cpu_of(thread);
	if (cpu < 0 || cpu == place->cpu)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0)
		place->cpu = cpu;
}
