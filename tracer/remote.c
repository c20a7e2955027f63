/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tracer/call.h"
#include "tracer/family.h"
#include "tracer/fault.h"
#include "tracer/process/inject.h"
#include "tracer/process/mem.h"
#include "tracer/remote.h"

enum { LIST_MOST = 1024 /* UIO_MAXIOV */ };

static const uint64_t most_bytes = 0x7ffff000; /* MAX_RW_COUNT */

/* An array of struct iovec, and how far it is done. */
struct list {
	struct iovec piece[LIST_MOST];
	size_t count, at;
	uint64_t done; /* of piece[at] */
};

struct transfer {
	struct session *session, *other;
	struct thread *thread;
	bool writes; /* into the other one */
	struct list here, there;
	struct bounce_use use; /* of the piece that is being copied */
	uint8_t page[PAGE];
};

static int list_read(struct session *session, uint64_t addr, uint64_t count,
		     struct list *ret)
{
	if (count > LIST_MOST)
		return -EINVAL;
	ret->count = count;
	return mem_read(session->process->mem, addr, ret->piece,
			count * sizeof(ret->piece[0]));
}

/* What is left of its piece, the next one if it is done; 0: of all. */
static uint64_t list_left(struct list *list)
{
	while (list->at < list->count &&
	       list->done == list->piece[list->at].iov_len) {
		list->at++;
		list->done = 0;
	}
	return list->at < list->count
		       ? list->piece[list->at].iov_len - list->done
		       : 0;
}

static uint64_t list_addr(const struct list *list)
{
	return (uintptr_t)list->piece[list->at].iov_base + list->done;
}

static bool list_skip(struct list *list, uint64_t bytes)
{
	uint64_t left;

	for (; bytes > 0; bytes -= min_u64(bytes, left)) {
		left = list_left(list);
		if (!left)
			return false;
		list->done += min_u64(bytes, left);
	}
	return true;
}

static struct session *session_of(struct session *session, pid_t tid)
{
	struct session *other = session->family->sessions;

	for (; other; other = other->next)
		if (other != session && other->process && !other->ended &&
		    process_thread(other->process, tid))
			return other;
	return NULL;
}

static void report(struct transfer *t)
{
	struct bounce_use *use = &t->use;

	if (use->size && !session_is_over(t->other) &&
	    session_refresh(t->other) == 0) {
		call_report(t->other, t->thread, t->thread->last_call, use);
		log_settle(t->other->log);
	}
	*use = (struct bounce_use){ 0 };
}

/* What the record of it shows: the first bytes. */
static void note(struct transfer *t, const uint8_t *old, uint64_t addr,
		 uint64_t size)
{
	struct bounce_use *use = &t->use;
	uint32_t more = (uint32_t)min_u64(size, EFFECT_SHOWN - use->shown);

	if (!use->size)
		use->addr = addr;
	use->direction = t->writes ? BUFFER_OUT : BUFFER_IN;
	memcpy(use->old + use->shown, old, more);
	memcpy(use->new + use->shown, t->page, more);
	use->shown += more;
	use->size += size;
}

/* No page's end lies between; 0: nothing is left, or it may not be done. */
static uint64_t copy_some(struct transfer *t)
{
	struct memory here = fault_memory(t->session);
	struct memory there = fault_memory(t->other);
	uint64_t size = min_u64(list_left(&t->here), list_left(&t->there));
	uint8_t old[EFFECT_SHOWN];
	uint64_t from, to;
	int r;

	if (!size)
		return 0;
	from = list_addr(&t->here);
	to = list_addr(&t->there);
	size = min_u64(size, page_down(from) + PAGE - from);
	size = min_u64(size, page_down(to) + PAGE - to);
	r = memory_read(t->writes ? &here : &there, t->writes ? from : to,
			t->page, size);
	memcpy(old, t->page, min_u64(size, sizeof(old)));
	if (r == 0 && t->writes)
		r = mem_read(t->other->process->mem, to, old,
			     min_u64(size, sizeof(old)));
	if (r == 0)
		r = memory_write(t->writes ? &there : &here,
				 t->writes ? to : from, t->page, size);
	if (r < 0)
		return 0;
	note(t, old, to, size);
	t->here.done += size;
	t->there.done += size;
	return size;
}

/* How many bytes more than @done, where the kernel came to one of our pages. */
static uint64_t copy_rest(struct transfer *t, uint64_t done)
{
	uint64_t start = done, size;
	size_t at;

	if (!list_skip(&t->here, done) || !list_skip(&t->there, done) ||
	    !list_left(&t->here) || !list_left(&t->there) ||
	    !guard_was_closed(&t->other->guard, list_addr(&t->there)))
		return 0;
	/* A mapping of ours may be new there: the room of a moved buffer. */
	t->session->process->maps_stale = true;
	t->other->process->maps_stale = true;
	at = t->there.at;
	while (done < most_bytes && (size = copy_some(t))) {
		done += size;
		(void)!list_left(&t->there);
		if (t->there.at != at)
			report(t);
		at = t->there.at;
	}
	report(t);
	return done - start;
}

static bool is_remote(int number)
{
	return number == SYS_process_vm_readv ||
	       number == SYS_process_vm_writev;
}

int remote_exit(struct session *session, struct thread *thread, int64_t *result)
{
	_cleanup_(freep) struct transfer *t = NULL;
	struct user_regs_struct regs;
	struct session *other;
	uint64_t more;

	if (!is_remote(thread->last_call) ||
	    (*result < 0 && *result != -EFAULT))
		return 0;
	/* In a pid namespace of its own it names others than we do. */
	other = thread_inner(thread) == thread->tid
			? session_of(session, (pid_t)thread->last_args[0])
			: NULL;
	if (!other)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->session = session;
	t->other = other;
	t->thread = thread;
	t->writes = thread->last_call == SYS_process_vm_writev;
	/* As the kernel saw them: buffers may have been moved. */
	if (trace_get_regs(thread->tid, &regs) < 0 ||
	    list_read(session, regs.rsi, regs.rdx, &t->here) < 0 ||
	    list_read(session, regs.r10, regs.r8, &t->there) < 0)
		return 0;
	more = copy_rest(t, *result > 0 ? (uint64_t)*result : 0);
	if (!more)
		return 0;
	*result = (*result > 0 ? *result : 0) + (int64_t)more;
	regs.rax = (uint64_t)*result;
	return trace_set_regs(thread->tid, &regs);
}

void remote_settle(struct session *session, struct thread *thread)
{
	struct user_regs_struct regs;
	int64_t result;

	if (!is_remote(thread->last_call) ||
	    thread->stop.kind != STOP_SYSCALL || inject_at_entry(thread) ||
	    trace_get_regs(thread->tid, &regs) < 0)
		return;
	result = (int64_t)regs.rax;
	(void)!remote_exit(session, thread, &result);
}
