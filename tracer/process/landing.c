/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/process/inject.h"
#include "tracer/process/landing.h"
#include "tracer/process/mem.h"
#include "tracer/process/rseq.h"

enum {
	SLOTS = 64,
	SLOT_CODE = 32,
	SLOT_DATA = 64,
	TARGET = LANDING_VALUE, /* in its data: where the jump goes */
	JUMP = 6,		/* jmp [rip + displacement] */
};

struct landing {
	unsigned slot;
	bool pending;
	uint64_t code, jump, target; /* addresses */
	size_t xstate_size;
	uint8_t xstate[];
};

static struct landing *get(struct thread *thread, size_t xstate_size)
{
	struct process *process = thread->process;
	struct landing *landing = thread->landing;
	unsigned slot;

	if (landing)
		return landing->xstate_size == xstate_size ? landing : NULL;
	if (~process->landings == 0)
		return NULL;
	slot = (unsigned)__builtin_ctzll(~process->landings);
	landing = calloc(1, sizeof(*landing) + xstate_size);
	if (!landing)
		return NULL;
	landing->slot = slot;
	landing->xstate_size = xstate_size;
	process->landings |= UINT64_C(1) << slot;
	thread->landing = landing;
	return landing;
}

static void displace(uint8_t *at, uint64_t from, uint64_t to)
{
	int32_t distance = (int32_t)(to - from);

	memcpy(at, &distance, sizeof(distance));
}

static int write_slot(struct thread *thread, struct landing *landing,
		      const struct landing_load *load)
{
	const struct process *process = thread->process;
	uint64_t data = process->scratch.start + SCRATCH_LANDING +
			landing->slot * SLOT_DATA;
	uint8_t code[SLOT_CODE], bytes[TARGET + 8];
	size_t size = load->code_size;
	int r;

	memcpy(code, load->code, size);
	displace(code + size - 4, landing->jump, data);
	memcpy(code + size, "\xff\x25", 2);
	displace(code + size + 2, landing->jump + JUMP, data + TARGET);
	memcpy(bytes, load->value, LANDING_VALUE);
	memcpy(bytes + TARGET, &landing->target, 8);
	r = mem_write(process->mem, landing->code, code, size + JUMP);
	return r < 0 ? r : mem_write(process->mem, data, bytes, sizeof(bytes));
}

int landing_begin(struct thread *thread, const struct landing_load *load,
		  uint64_t target, const void *xstate, size_t xstate_size,
		  uint64_t *ip)
{
	uint64_t start = thread->process->scratch.start;
	struct landing *landing;

	/* A stop there must break it off, which the kernel judges by rip. */
	if (!start || rseq_sequence(thread))
		return 1;
	landing = get(thread, xstate_size);
	if (!landing)
		return 1;
	landing->code = start + SCRATCH_STUBS + landing->slot * SLOT_CODE;
	landing->jump = landing->code + load->code_size;
	landing->target = target;
	memcpy(landing->xstate, xstate, xstate_size);
	if (write_slot(thread, landing, load) < 0)
		return 1;
	landing->pending = true;
	*ip = landing->code;
	return 0;
}

void landing_end(struct thread *thread)
{
	struct landing *landing = thread->landing;
	uint64_t ip;

	if (!landing || !landing->pending)
		return;
	landing->pending = false;
	/* It died: nothing is left to be done. */
	if (trace_get_ip(thread->tid, &ip) < 0 ||
	    (ip != landing->code && ip != landing->jump))
		return;
	if (ip == landing->code)
		(void)!trace_set_xstate(thread->tid, landing->xstate,
					landing->xstate_size);
	(void)!trace_set_ip(thread->tid, landing->target);
}

void landing_free(struct thread *thread)
{
	if (thread->landing)
		thread->process->landings &=
			~(UINT64_C(1) << thread->landing->slot);
	free(thread->landing);
	thread->landing = NULL;
}
