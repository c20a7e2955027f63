/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>

#include "tracer/call.h"
#include "tracer/fault.h"

enum { RESTART_BLOCK = -516 };

/* A closed page of shared memory does not take what is brought back. */
static bool is_shared(const struct session *session,
		      const struct buffer_use *buffer)
{
	const struct maps *maps = session->process->maps;
	const struct mapping *m = maps_above(maps, buffer->addr);
	const struct mapping *stop = maps->mapping + maps->count;

	for (; m && m < stop && m->start < buffer->addr + buffer->size; m++)
		if (m->shared)
			return true;
	return false;
}

/* Is the pointer to it, which is changed, a part of another buffer, too? */
static bool is_named_twice(const struct call_plan *plan,
			   const struct buffer_use *buffer)
{
	uint64_t word;

	if (buffer->parent < 0)
		return false;
	word = plan->buffer[buffer->parent].addr + buffer->place;
	for (unsigned i = 0; i < plan->count; i++) {
		const struct buffer_use *other = &plan->buffer[i];

		if (i != (unsigned)buffer->parent &&
		    other->addr < word + sizeof(word) &&
		    word < other->addr + other->size)
			return true;
	}
	return false;
}

/* Our copying forces rights: what the program may not write, the kernel must
 * refuse to write, too. */
static bool may_be_moved(struct session *session, const struct call_plan *plan)
{
	if (process_remap(session->process) < 0)
		return false;
	for (unsigned i = 0; i < plan->count; i++) {
		const struct buffer_use *b = &plan->buffer[i];
		bool written = b->direction & BUFFER_OUT;

		if (!fault_allowed(session, b->addr, b->size,
				   written ? PROT_WRITE : PROT_READ))
			return false;
		if (call_guarded(session, b->addr, b->size) &&
		    ((written && is_shared(session, b)) ||
		     is_named_twice(plan, b)))
			return false;
	}
	return true;
}

int moved_enter(struct session *session, struct thread *thread,
		const struct call *call, const struct call_plan *plan,
		uint64_t room)
{
	struct memory memory = process_memory(session->process);
	struct inflight *inflight = call_inflight(thread, call);
	uint64_t args[6];
	int r;

	if (!inflight)
		return -ENOMEM;
	if (!may_be_moved(session, plan))
		return 1;
	r = room_take(&session->rooms, thread, room, &inflight->room);
	if (r < 0)
		return r == -ESRCH ? r : 1;

	r = bounce_begin(&inflight->bounce, call, plan, inflight->room.addr,
			 call_guarded, session, &memory);
	if (r < 0) {
		bounce_done(&inflight->bounce);
		(void)!room_give(&session->rooms, thread, &inflight->room);
		return r == -ESRCH ? r : 1;
	}
	inflight->moved = true;
	for (int i = 0; i < 6; i++) {
		bool changed = inflight->bounce.args[i] != call->args[i];

		/* A timeout that we shortened stays so. */
		args[i] = inflight->changed >> i & 1 && !changed
				  ? inflight->args[i]
				  : inflight->bounce.args[i];
		inflight->args[i] = args[i];
		inflight->changed |= (uint8_t)(changed << i);
	}
	return call_set(thread, call->number, args);
}

int moved_exit(struct session *session, struct thread *thread, int64_t result)
{
	struct memory memory = process_memory(session->process);
	struct inflight *inflight = thread->call;
	struct bounce_use uses[CALL_BUFFERS];
	unsigned count = 0;
	int r;

	for (unsigned i = 0; i < inflight->bounce.plan.count; i++)
		if (inflight->bounce.plan.buffer[i].direction & BUFFER_OUT)
			shadow_forget(
				session, inflight->bounce.plan.buffer[i].addr,
				inflight->bounce.plan.buffer[i].addr +
					inflight->bounce.plan.buffer[i].size);
	r = bounce_end(&inflight->bounce, result, &memory, call_guarded,
		       session, uses, &count);
	inflight->restarts = result == RESTART_BLOCK;
	/* A call that will be made again is one event, when it is done. */
	if (r == 0 && result >= -516 && result <= -512)
		r = interrupted_keep(thread, inflight->call.number, uses,
				     count);
	else if (r == 0)
		for (unsigned i = 0; i < count; i++)
			call_report(session, thread, inflight->call.number,
				    &uses[i]);
	if (inflight->restarts)
		return r == -ESRCH ? r : 0;

	bounce_done(&inflight->bounce);
	inflight->moved = false;
	r = first_error(r == -ESRCH ? r : 0,
			room_give(&session->rooms, thread, &inflight->room));
	return r;
}
