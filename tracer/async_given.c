/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "tracer/async_given.h"
#include "tracer/process/mem.h"
#include "tracer/uring.h"

/* Newer than the kernel headers of Debian 12. */
enum {
	SETUP_NO_MMAP = 1 << 14,
	REGISTER_RESIZE_RINGS = 33,
	REGISTER_MEM_REGION = 34,
	REGION_USER = 1, /* lies in the program's own memory */
	LENT_MAPPED = 1, /* does not */
};

enum {
	RINGS_HEAD = 512, /* more than struct io_rings */
	ENTRIES_MAX = 1 << 16,
};

static int pinned(void *context, uint64_t start, uint64_t end, bool lasts)
{
	const struct async_giver *giver = context;

	return async_give(giver->session, giver->thread, start, end, true);
}

/* How many a ring has of those that were asked for. */
static uint64_t rounded(uint64_t entries)
{
	uint64_t n = 1;

	while (n < entries && n < ENTRIES_MAX)
		n <<= 1;
	return n;
}

/*
 * Rings that the program provides itself: the kernel pins their pages, and
 * writes into the one of completions.
 */
static bool own_rings(const struct io_uring_params *p, uint64_t count,
		      struct range *entries, struct range *rings)
{
	uint64_t n = rounded(count), completions = 2 * n;

	if (!(p->flags & SETUP_NO_MMAP))
		return false;
	if (p->flags & IORING_SETUP_CQSIZE)
		completions = rounded(p->cq_entries);
	entries->start = p->sq_off.resv2; /* user_addr */
	entries->end = entries->start +
		       n * sizeof(struct io_uring_sqe) *
			       (p->flags & IORING_SETUP_SQE128 ? 2 : 1);
	rings->start = p->cq_off.resv2;
	rings->end = rings->start + RINGS_HEAD + n * sizeof(uint32_t) +
		     completions * sizeof(struct io_uring_cqe) *
			     (p->flags & IORING_SETUP_CQE32 ? 2 : 1);
	return entries->end > entries->start && rings->end > rings->start;
}

static unsigned registers(const struct call *call)
{
	enum { BY_INDEX = 0x80000000 }; /* of the ring */

	return call->number == SYS_io_uring_register
		       ? (unsigned)call->args[1] & ~(unsigned)BY_INDEX
		       : UINT32_MAX;
}

/* Does it make rings, as the struct io_uring_params tells? */
static bool makes_rings(const struct session *session, const struct call *call,
			struct io_uring_params *p, uint64_t *count)
{
	bool anew = registers(call) == REGISTER_RESIZE_RINGS;

	if ((call->number != SYS_io_uring_setup && !anew) ||
	    mem_read(session->process->mem, call->args[anew ? 2 : 1], p,
		     sizeof(*p)) < 0)
		return false;
	*count = anew ? p->sq_entries : call->args[0];
	return true;
}

int async_enter(struct session *session, struct thread *thread,
		const struct call *call)
{
	struct range entries, rings;
	struct io_uring_params p;
	uint64_t count;
	int r;

	if (!makes_rings(session, call, &p, &count) ||
	    !own_rings(&p, count, &entries, &rings))
		return 0;
	r = async_give(session, thread, entries.start, entries.end, false);
	return r == 0 ? async_give(session, thread, rings.start, rings.end,
				   false)
		      : r;
}

/* What was told of by memory that a store changes must be guarded by now. */
static int mind_more(struct session *session, struct thread *thread)
{
	return session->phase == PHASE_ARMED ? session_rearm(session, thread)
					     : 0;
}

static int made_rings(struct session *session, struct thread *thread,
		      const struct call *call)
{
	struct async *async = &session->async;
	struct range entries, rings;
	struct io_uring_params p;
	uint64_t count;
	int r;

	if (!makes_rings(session, call, &p, &count))
		return 0;
	async->used = true;
	async->polls |= p.flags & IORING_SETUP_SQPOLL;
	if (!own_rings(&p, count, &entries, &rings))
		return 0;
	r = ranges_add(&async->entries, entries.start, entries.end, 0);
	if (r == 0 && !async->polls)
		r = async_give(session, thread, entries.start, entries.end,
			       true);
	if (r == 0)
		r = async_give(session, thread, rings.start, rings.end, true);
	return r == 0 && async->polls ? mind_more(session, thread) : r;
}

static int lend(struct session *session, struct thread *thread,
		const struct call *call)
{
	struct async *async = &session->async;
	struct io_uring_buf_reg reg;
	struct async_lent *more;

	if (mem_read(session->process->mem, call->args[2], &reg, sizeof(reg)) <
		    0 ||
	    reg.pad & LENT_MAPPED)
		return 0;
	more = reallocarray(async->lent, async->nlent + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	async->lent = more;
	more[async->nlent++] = (struct async_lent){
		.start = reg.ring_addr,
		.end = reg.ring_addr +
		       reg.ring_entries * sizeof(struct io_uring_buf),
		.ring = call->args[0],
		.group = reg.bgid,
	};
	return mind_more(session, thread);
}

static void drop_lent(struct async *async, size_t i)
{
	async->lent[i] = async->lent[--async->nlent];
}

static void take_back(struct session *session, const struct call *call)
{
	struct async *async = &session->async;
	struct io_uring_buf_reg reg;

	if (mem_read(session->process->mem, call->args[2], &reg, sizeof(reg)) <
	    0)
		return;
	for (size_t i = async->nlent; i-- > 0;)
		if (async->lent[i].ring == call->args[0] &&
		    async->lent[i].group == reg.bgid)
			drop_lent(async, i);
}

/* Pinned: the kernel touches it without a look at the pages' rights. */
static int pin(struct session *session, struct thread *thread,
	       const struct call *call)
{
	struct async_giver giver = { session, thread };
	const struct uring_visitor visitor = { session->process, pinned,
					       &giver };
	struct {
		uint32_t count, flags; /* a count in BUFFERS2 only */
		uint64_t reserved, data, tags;
	} many;
	struct {
		uint32_t offset, reserved;
		uint64_t data, tags;
		uint32_t count, reserved2;
	} update;
	struct {
		uint64_t start, size;
		uint32_t flags, id;
	} region;
	int mem = session->process->mem, r = process_remap(session->process);
	uint64_t at;

	if (r < 0)
		return r;
	switch (registers(call)) {
	case IORING_REGISTER_BUFFERS:
		return uring_vectors(&visitor, call->args[2], call->args[3]);
	case IORING_REGISTER_BUFFERS2:
		if (mem_read(mem, call->args[2], &many, sizeof(many)) < 0)
			return 0;
		return uring_vectors(&visitor, many.data, many.count);
	case IORING_REGISTER_BUFFERS_UPDATE:
		if (mem_read(mem, call->args[2], &update, sizeof(update)) < 0)
			return 0;
		return uring_vectors(&visitor, update.data, update.count);
	case REGISTER_MEM_REGION:
		if (mem_read(mem, call->args[2], &at, sizeof(at)) < 0 ||
		    mem_read(mem, at, &region, sizeof(region)) < 0 ||
		    !(region.flags & REGION_USER))
			return 0;
		return async_give(session, thread, region.start,
				  region.start + region.size, true);
	default:
		return 0;
	}
}

/* A part of a ring may have been mapped. */
static int mapped(struct session *session, struct thread *thread, uint64_t at)
{
	const struct mapping *m;
	enum uring_part part;
	int r = process_remap(session->process);

	if (r < 0)
		return r;
	m = maps_find(session->process->maps, at);
	part = m ? uring_part(m) : URING_OTHER;
	if (part == URING_OTHER || async_minds(session, at) ||
	    (part == URING_ENTRIES && !session->async.polls))
		return 0;
	return mind_more(session, thread);
}

static int unmapped(struct async *async, uint64_t start, uint64_t end)
{
	int r = ranges_remove(&async->kept, start, end);

	for (size_t i = async->nlent; i-- > 0;)
		if (async->lent[i].start < end && async->lent[i].end > start)
			drop_lent(async, i);
	return r == 0 ? ranges_remove(&async->entries, start, end) : r;
}

int async_leave(struct session *session, struct thread *thread,
		const struct call *call, int64_t result)
{
	struct async *async = &session->async;

	if ((result < 0 && result >= -4095) ||
	    (!async->used && call->number != SYS_io_uring_setup))
		return 0;
	switch (call->number) {
	case SYS_io_uring_setup:
		return made_rings(session, thread, call);
	case SYS_io_uring_register:
		break;
	case SYS_mmap:
		return mapped(session, thread, (uint64_t)result);
	case SYS_munmap:
		return unmapped(async, call->args[0],
				page_up(call->args[0] + call->args[1]));
	default:
		return 0;
	}
	switch (registers(call)) {
	case IORING_REGISTER_PBUF_RING:
		return lend(session, thread, call);
	case IORING_UNREGISTER_PBUF_RING:
		take_back(session, call);
		return 0;
	case REGISTER_RESIZE_RINGS:
		return made_rings(session, thread, call);
	default:
		return pin(session, thread, call);
	}
}
