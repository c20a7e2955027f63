/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/process/inject.h"
#include "tracer/process/kept.h"
#include "tracer/process/status.h"

/* SIGSEGV and SIGTRAP, each sent to the thread and to its process. */
enum { KEPT_MAX = 4 };

struct kept {
	unsigned count;
	siginfo_t info[KEPT_MAX];
	bool shared[KEPT_MAX]; /* it is the process's */
};

void kept_look(struct thread *thread, uint64_t mask)
{
	struct status_signals now = { 0 };

	mask &= signal_bit(SIGSEGV) | signal_bit(SIGTRAP);
	if (!mask)
		return;
	(void)!status_signals(thread->tid, &now); /* or it is gone */
	thread->own = mask & now.pending;
	thread->shared = mask & now.shared;
}

/* The kernel takes the thread's first.  Another thread of the process may wait
 * for what is the process's. */
static bool is_shared(struct thread *thread, const siginfo_t *info)
{
	uint64_t bit = signal_bit(info->si_signo);
	bool own = thread->own & bit, shared = thread->shared & bit;

	thread->own &= ~bit;
	if (!own)
		thread->shared &= ~bit;
	return own ? false : shared || info->si_code == SI_USER;
}

int kept_add(struct thread *thread, const siginfo_t *info)
{
	struct kept *kept = thread->kept;

	if (!kept)
		kept = thread->kept = calloc(1, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	if (kept->count == KEPT_MAX)
		return -E2BIG;
	kept->shared[kept->count] = is_shared(thread, info);
	kept->info[kept->count++] = *info;
	return 0;
}

int kept_take(struct thread *thread, const siginfo_t *info)
{
	if (info->si_code > 0 || !thread->mask_known ||
	    !(thread->mask & signal_bit(info->si_signo)))
		return 0;
	return first_error(kept_add(thread, info), 1);
}

int kept_return(struct thread *thread)
{
	struct kept *kept = thread->kept;
	struct injection injection;
	int r;

	if (!kept)
		return 0;
	r = inject_begin(&injection, thread);
	for (unsigned i = 0; r == 0 && i < kept->count; i++)
		r = kept->shared[i]
			    ? inject_signal_process(&injection, &kept->info[i])
			    : inject_signal(&injection, &kept->info[i]);
	r = first_error(r, inject_end(&injection));
	free(kept);
	thread->kept = NULL;
	return r;
}

void kept_send(struct thread *thread)
{
	struct kept *kept = thread->kept;

	for (unsigned i = 0; kept && i < kept->count; i++)
		syscall(SYS_tgkill, thread->tgid, thread->tid,
			kept->info[i].si_signo);
	free(kept);
	thread->kept = NULL;
}
