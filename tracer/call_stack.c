/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tracer/call.h"
#include "tracer/process/mem.h"

struct birth {
	uint64_t flags;
	uint64_t base, top; /* of the stack; base 0: not told */
	uint64_t tls;
};

static void look_at_birth(struct session *session, const struct call *call,
			  struct birth *ret)
{
	/* struct clone_args from stack on: base, size, tls */
	enum { STACK = 40 };
	uint64_t args[3];

	*ret = (struct birth){ 0 };
	if (call->number == SYS_clone) {
		ret->flags = call->args[0];
		ret->top = call->args[1];
		ret->tls = call->args[4];
	} else if (call->number == SYS_clone3 &&
		   mem_read(session->process->mem, call->args[0], &ret->flags,
			    sizeof(ret->flags)) == 0 &&
		   mem_read(session->process->mem, call->args[0] + STACK, args,
			    sizeof(args)) == 0 &&
		   args[0]) {
		ret->base = args[0];
		ret->top = args[0] + args[1];
		ret->tls = args[2];
	}
}

/*
 * Closed before the thread makes its first access.  What lies above, up to the
 * mapping's end, is found when it is looked for next.
 */
static int watch_child_stack(struct session *session, struct thread *thread,
			     const struct birth *birth, const struct mapping *m,
			     uint64_t start)
{
	struct watch *watch = &session->watch;
	uint64_t end = page_up(birth->top);
	struct ranges fresh = { 0 };
	int r;

	start = page_down(start);
	if (birth->flags & CLONE_SETTLS && birth->tls >= start)
		end = min_u64(end, page_down(birth->tls));
	r = watch_newborn(watch, start, end);
	if (r == 0)
		r = ranges_add(&fresh, start, end, (uint64_t)m->prot);
	for (size_t i = 0; r == 0 && i < watch->never.count; i++)
		r = ranges_remove(&fresh, watch->never.range[i].start,
				  watch->never.range[i].end);
	for (size_t i = 0; r == 0 && i < session->guard.pages.count; i++)
		r = ranges_remove(&fresh, session->guard.pages.range[i].start,
				  session->guard.pages.range[i].end);
	if (r == 0)
		r = ranges_join(&session->guard.pages, &fresh);
	if (r == 0)
		r = session_close(session, thread, &fresh);
	ranges_done(&fresh);
	return r;
}

/* A new thread's stack, before it runs on it. */
int call_child_stack(struct session *session, struct thread *thread,
		     const struct call *call)
{
	const struct mapping *m;
	struct birth birth;
	bool executable;
	uint64_t start;
	int r;

	look_at_birth(session, call, &birth);
	if (!birth.top)
		return 0;
	session->process->maps_stale = true;
	r = process_remap(session->process);
	m = maps_find(session->process->maps, birth.top - 1);
	if (r < 0 || !m)
		return r;
	start = max_u64(m->start, birth.base);
	executable = m->prot & PROT_EXEC;
	if (watch_wants_stacks(&session->watch) && !executable &&
	    session->policy != POLICY_SAMPLE && birth.flags & CLONE_THREAD)
		return watch_child_stack(session, thread, &birth, m, start);
	return session_refuse(session, thread, start, birth.top,
			      executable ? REFUSED_EXECUTABLE : REFUSED_STACK);
}
