/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "tracer/call.h"

/*
 * What a call that was broken off touched is an event only if it is not made
 * again, and that the signal decides which is delivered next.
 */
struct interrupted {
	int number;
	unsigned count;
	struct bounce_use use[];
};

int interrupted_keep(struct thread *thread, int number,
		     const struct bounce_use *uses, unsigned count)
{
	struct interrupted *kept;

	interrupted_forget(thread);
	if (!count)
		return 0;
	kept = malloc(sizeof(*kept) + count * sizeof(*uses));
	if (!kept)
		return -ENOMEM;
	kept->number = number;
	kept->count = count;
	memcpy(kept->use, uses, count * sizeof(*uses));
	thread->interrupted = kept;
	return 0;
}

void interrupted_forget(struct thread *thread)
{
	free(thread->interrupted);
	thread->interrupted = NULL;
}

/* As the kernel's handle_signal(): a handler runs, and then? */
static bool is_made_again(int64_t result, uint64_t flags)
{
	enum { RESTARTSYS = 512, RESTARTNOINTR = 513 };

	return result == -RESTARTNOINTR ||
	       (result == -RESTARTSYS && flags & SA_RESTART);
}

void interrupted_by_handler(struct session *session, struct thread *thread,
			    uint64_t flags)
{
	struct interrupted *kept = thread->interrupted;
	struct user_regs_struct regs;

	if (!kept)
		return;
	if (trace_get_regs(thread->tid, &regs) == 0 &&
	    !is_made_again((int64_t)regs.rax, flags))
		for (unsigned i = 0; i < kept->count; i++)
			call_report(session, thread, kept->number,
				    &kept->use[i]);
	interrupted_forget(thread);
}
