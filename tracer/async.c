/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracer/async.h"
#include "tracer/call.h"
#include "tracer/process/descriptors.h"
#include "tracer/process/mem.h"
#include "tracer/session.h"
#include "tracer/uring.h"

int async_give(struct session *session, struct thread *thread, uint64_t start,
	       uint64_t end, bool lasts)
{
	int r = 0;

	if (lasts)
		r = ranges_add(&session->async.kept, page_down(start),
			       page_up(end), 0);
	if (r < 0)
		return r;
	if (!thread)
		return watch_refuse(&session->watch, start, end, REFUSED_ASYNC);
	if (!call_guarded(session, start, end - start))
		return 0;
	return session_refuse(session, thread, start, end, REFUSED_ASYNC);
}

static int give(void *context, uint64_t start, uint64_t end, bool lasts)
{
	const struct async_giver *giver = context;

	return async_give(giver->session, giver->thread, start, end, lasts);
}

/* Where the program writes what it wants of the kernel. */
static int
each_part(struct session *session, const struct uring_visitor *v,
	  int (*each)(struct session *session, const struct uring_visitor *v,
		      enum uring_part part, uint64_t start, uint64_t end))
{
	const struct async *async = &session->async;
	const struct process *process = session->process;
	int r = 0;

	/* Whoever gives rights back may read the map anew. */
	for (size_t i = 0; r == 0 && i < process->maps->count; i++) {
		const struct mapping *m = &process->maps->mapping[i];
		enum uring_part part = uring_part(m);

		if (part != URING_OTHER)
			r = each(session, v, part, m->start, m->end);
	}
	for (size_t i = 0; r == 0 && i < async->entries.count; i++)
		r = each(session, v, URING_ENTRIES,
			 async->entries.range[i].start,
			 async->entries.range[i].end);
	for (size_t i = 0; r == 0 && i < async->nlent; i++)
		r = each(session, v, URING_LENT, async->lent[i].start,
			 async->lent[i].end);
	return r;
}

static int look_at(struct session *session, const struct uring_visitor *v,
		   enum uring_part part, uint64_t start, uint64_t end)
{
	return uring_buffers(v, part, start, end);
}

/* Entries that nobody polls are looked at when they are submitted. */
static int mind(struct session *session, const struct uring_visitor *v,
		enum uring_part part, uint64_t start, uint64_t end)
{
	int r = 0;

	if (part == URING_LENT || session->async.polls)
		r = ranges_add(&session->watch.minded, start, end, part);
	return r < 0 ? r : uring_buffers(v, part, start, end);
}

static bool has_rings(const struct session *session)
{
	const struct maps *maps = session->process->maps;

	for (size_t i = 0; i < maps->count; i++)
		if (strcmp(maps->mapping[i].path, "anon_inode:[io_uring]") == 0)
			return true;
	return session->async.used;
}

/* Of a ring that is open: "SqThread:\t12", "    0: 0x7f1234560000/4096". */
static int learn(void *context, int fd)
{
	struct session *session = context;
	_cleanup_(fclosep) FILE *file = NULL;
	uint64_t start, size;
	char path[64], line[256];
	bool buffers = false;
	int value, r = 0;

	session->async.used = true;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d",
		 process_proc(session->process), fd);
	file = fopen(path, "re");
	while (r == 0 && file && fgets(line, sizeof(line), file)) {
		if (line[0] != ' ')
			buffers = strncmp(line, "UserBufs:", 9) == 0;
		if (sscanf(line, "SqThread: %d", &value) == 1)
			session->async.polls |= value > 0;
		else if (buffers && sscanf(line, " %*u: %" SCNx64 "/%" SCNu64,
					   &start, &size) == 2)
			r = ranges_add(&session->async.kept, page_down(start),
				       page_up(start + size), 0);
	}
	return r;
}

int async_refuse(struct session *session)
{
	struct async_giver giver = { .session = session };
	const struct uring_visitor visitor = { session->process, give, &giver };
	const struct ranges *kept = &session->async.kept;
	int r = 0;

	ranges_clear(&session->watch.minded);
	if (session->phase != PHASE_ARMED &&
	    (!session->armed_once || has_rings(session)))
		r = descriptors_each(process_proc(session->process),
				     "anon_inode:\\[io_uring]", learn, session);
	for (size_t i = 0; r == 0 && i < kept->count; i++)
		r = watch_refuse(&session->watch, kept->range[i].start,
				 kept->range[i].end, REFUSED_ASYNC);
	return r == 0 ? each_part(session, &visitor, mind) : r;
}

/* What else it waits for: struct io_uring_getevents_arg. */
static bool waits_in_guarded(struct session *session, const struct call *call)
{
	enum { BY_OFFSET = 1 << 6 }; /* IORING_ENTER_EXT_ARG_REG */
	struct io_uring_getevents_arg argument;
	uint64_t at = call->args[4];

	if (!at || call->args[3] & BY_OFFSET)
		return false;
	if (call_guarded(session, at, max_u64(call->args[5], 64)))
		return true;
	if (!(call->args[3] & IORING_ENTER_EXT_ARG) ||
	    mem_read(session->process->mem, at, &argument, sizeof(argument)) <
		    0)
		return false;
	return call_guarded(session, argument.ts, 16) ||
	       call_guarded(session, argument.sigmask, argument.sigmask_sz);
}

int async_submit(struct session *session, struct thread *thread,
		 const struct call *call)
{
	struct async_giver giver = { session, thread };
	const struct uring_visitor visitor = { session->process, give, &giver };
	int r = process_remap(session->process);

	if (r == 0)
		r = each_part(session, &visitor, look_at);
	if (r < 0)
		return r;
	thread->call_stays = true;
	return waits_in_guarded(session, call);
}

int async_rest(struct session *session, struct thread *thread,
	       const struct call *call)
{
	int r = 0;

	if (session->async.used && call->number == SYS_io_uring_enter)
		r = async_submit(session, thread, call);
	return r < 0 ? r : 0;
}

bool async_minds(const struct session *session, uint64_t addr)
{
	return ranges_find(&session->watch.minded, addr);
}

int async_stored(struct session *session, struct thread *thread, uint64_t addr)
{
	struct async_giver giver = { session, thread };
	const struct uring_visitor visitor = { session->process, give, &giver };
	const struct range *ring = ranges_find(&session->watch.minded, addr);

	/* One instruction stores into two pages at most, or a whole string. */
	return ring ? uring_buffers(
			      &visitor, (enum uring_part)ring->tag,
			      max_u64(ring->start, page_down(addr)),
			      min_u64(ring->end, page_down(addr) + 2 * PAGE))
		    : 0;
}

void async_forget(struct session *session)
{
	struct async *async = &session->async;

	ranges_done(&async->kept);
	ranges_done(&async->entries);
	free(async->lent);
	*async = (struct async){ 0 };
}
