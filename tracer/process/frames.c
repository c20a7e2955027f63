/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tracer/process/frames.h"
#include "tracer/process/mem.h"

enum { DEPTH_MAX = 8 }; /* of handlers in handlers */

struct frames {
	unsigned count;
	struct survival_frame frame[DEPTH_MAX];
};

/* struct rt_sigframe, up to the pointer to the floating point state. */
struct head {
	uint64_t restorer;
	uint64_t flags, link;
	uint64_t stack, stack_flags, stack_size;
	uint64_t regs[23];
	uint64_t fpstate;
};

_Static_assert(offsetof(struct head, fpstate) ==
		       SURVIVAL_FPSTATE * sizeof(uint64_t),
	       "of Linux, x86-64");

static int read_frame(const struct thread *thread, uint64_t at,
		      struct survival_frame *ret)
{
	struct head head;
	int r = mem_read(thread->process->mem, at, &head, sizeof(head));

	if (r < 0)
		return r;
	*ret = (struct survival_frame){
		.at = at,
		.restorer = head.restorer,
		.fpstate = head.fpstate,
	};
	/* Elsewhere a stack may end: nothing tells where. */
	if (at - head.stack < head.stack_size)
		ret->low = head.stack;
	return 0;
}

int frames_enter(struct thread *thread)
{
	struct user_regs_struct regs;
	struct frames *frames = thread->frames;
	int r = trace_get_regs(thread->tid, &regs);

	/* The kernel passes the context, that lies behind the restorer. */
	if (r < 0 || regs.rdx != regs.rsp + sizeof(uint64_t))
		return r;
	if (!frames)
		frames = thread->frames = calloc(1, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	if (frames->count == DEPTH_MAX)
		frames->count = 0;
	r = read_frame(thread, regs.rsp, &frames->frame[frames->count]);
	frames->count += r == 0;
	return r == -EFAULT ? 0 : r;
}

void frames_leave(struct thread *thread, uint64_t sp)
{
	struct frames *frames = thread->frames;

	if (!frames || !frames->count)
		return;
	/* The restorer was popped by the handler's own return. */
	if (frames->frame[frames->count - 1].at + sizeof(uint64_t) == sp)
		frames->count--;
	else
		frames->count = 0;
}

/* By longjmp(3) a handler is left, too. */
static bool is_left(const struct thread *thread,
		    const struct survival_frame *frame, uint64_t sp)
{
	struct survival_frame now;

	return sp > frame->at || sp < frame->low ||
	       read_frame(thread, frame->at, &now) < 0 ||
	       now.restorer != frame->restorer || now.fpstate != frame->fpstate;
}

const struct survival_frame *frames_innermost(struct thread *thread,
					      uint64_t sp)
{
	struct frames *frames = thread->frames;

	if (!frames || !frames->count)
		return NULL;
	if (is_left(thread, &frames->frame[frames->count - 1], sp))
		frames->count = 0;
	return frames->count ? &frames->frame[frames->count - 1] : NULL;
}

void frames_forget(struct thread *thread)
{
	free(thread->frames);
	thread->frames = NULL;
}
