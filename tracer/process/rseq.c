/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/process/rseq.h"
#include "tracer/process/mem.h"

enum { SEQUENCE = 8 /* offset of rseq_cs in struct rseq */ };

uint64_t rseq_area(struct thread *thread)
{
	if (!thread->rseq_known) {
		thread->rseq = trace_rseq(thread->tid);
		thread->rseq_known = true;
	}
	return thread->rseq;
}

uint64_t rseq_sequence(struct thread *thread)
{
	uint64_t area = rseq_area(thread), sequence;

	if (!area || mem_read(thread->process->mem, area + SEQUENCE, &sequence,
			      sizeof(sequence)) < 0)
		return 0;
	return sequence;
}

/* struct rseq_cs, as the program has it. */
struct sequence {
	uint32_t version, flags;
	uint64_t start, size, abort;
};

static bool inside(struct thread *thread, uint64_t ip, struct sequence *ret)
{
	uint64_t at = rseq_sequence(thread);

	return at &&
	       mem_read(thread->process->mem, at, ret, sizeof(*ret)) == 0 &&
	       ip - ret->start < ret->size;
}

bool rseq_holds(struct thread *thread, uint64_t ip)
{
	struct sequence sequence;

	return inside(thread, ip, &sequence);
}

int rseq_break_off(struct thread *thread)
{
	static const uint64_t none;
	struct sequence sequence;
	uint64_t ip;
	int r;

	if (!rseq_sequence(thread))
		return 0;
	r = trace_get_ip(thread->tid, &ip);
	if (r < 0)
		return r;
	if (inside(thread, ip, &sequence))
		r = trace_set_ip(thread->tid, sequence.abort);
	return r < 0 ? r
		     : mem_write(thread->process->mem,
				 rseq_area(thread) + SEQUENCE, &none,
				 sizeof(none));
}
