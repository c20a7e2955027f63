/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/session.h"

enum {
	RESUMES = 32,	/* native code and a runtime's call each other */
	RED_ZONE = 128, /* a frame that starts lower is none */
};

static bool has_managed(struct session *session)
{
	struct stacks *stacks = &session->stacks;

	if (session_refresh(session) < 0 ||
	    !resolver_has_frames(session->resolver))
		return false;
	if (!stacks->managed)
		stacks->managed = calloc(1, sizeof(*stacks->managed));
	return stacks->managed;
}

/* The native frames from where the runtime's code was called. */
static const char *walk_on(struct session *session,
			   const struct user_regs_struct *regs,
			   const struct memory *memory, struct frame *frames,
			   size_t *count)
{
	const struct managed *managed = session->stacks.managed;
	size_t max = min_u64(session->options->depth, EVENT_FRAMES);
	struct user_regs_struct from = *regs;
	size_t more = 0, fresh;
	int r;

	*count = min_u64(managed->natives, *count);
	if (*count >= max)
		return "truncated";
	from.rip = managed->resume.ip;
	from.rsp = managed->resume.sp;
	from.rbp = managed->resume.bp;
	r = unwinder_walk_warm(session->stacks.unwinder, NULL, &from, memory,
			       frames + *count, max - *count, &more, &fresh);
	*count += more;
	return stack_end_name(r);
}

static bool ask(struct session *session, pid_t tid,
		const struct user_regs_struct *regs, const struct memory *past,
		const struct frame *frames, size_t count, size_t first,
		const char *end)
{
	struct managed *managed = session->stacks.managed;
	struct native_frame native[EVENT_FRAMES];
	const struct stack_query query = {
		.tid = tid,
		.regs = regs,
		.native = native,
		.count = count,
		.first = first,
		.whole = !end,
		.past = past,
	};

	for (size_t i = 0; i < count; i++)
		native[i] =
			(struct native_frame){ frames[i].ip, frames[i].cfa };
	managed->natives = count;
	managed->resume.ip = 0;
	return resolver_frames(session->resolver, &query, managed);
}

bool stack_managed(struct session *session, pid_t tid,
		   const struct user_regs_struct *regs,
		   const struct memory *memory, bool past,
		   struct frame frames[EVENT_FRAMES], size_t *count,
		   const char **end)
{
	struct managed *managed;
	uint64_t sp = regs->rsp;
	size_t first = 0;

	if (!has_managed(session))
		return true;
	managed = session->stacks.managed;
	managed->count = managed->words = 0;
	managed->cut = managed->fleeting = managed->stale = false;
	for (unsigned i = 0; i < RESUMES; i++) {
		if (!ask(session, tid, regs, past ? memory : NULL, frames,
			 *count, first, *end))
			break;
		if (!managed->resume.ip) {
			if (managed->natives < *count)
				*end = "broken";
			*count = min_u64(managed->natives, *count);
			break;
		}
		/* outwards only, or it would never end */
		if (managed->resume.sp + RED_ZONE < sp)
			break;
		sp = managed->resume.sp;
		*end = walk_on(session, regs, memory, frames, count);
		first = managed->natives;
	}
	if (managed->fleeting || managed->stale)
		session->stacks.last.slots = NULL;
	return !managed->stale;
}

void stack_managed_forget(struct session *session)
{
	struct managed *managed = session->stacks.managed;

	if (managed)
		managed->count = managed->words = 0;
}

bool stack_managed_stored(const struct session *session, uint64_t addr,
			  size_t size)
{
	const struct managed *managed = session->stacks.managed;

	for (size_t i = 0; managed && i < managed->words; i++)
		if (addr < managed->word[i] + 8 &&
		    managed->word[i] < addr + size)
			return true;
	return false;
}
