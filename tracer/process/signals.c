/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "tracer/process/signals.h"

static bool default_ignores(int signal)
{
	return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG ||
	       signal == SIGWINCH;
}

bool disposition_ignores(const struct dispositions *dispositions, int signal)
{
	uint64_t handler = dispositions->signal[signal].handler;

	if (handler == (uint64_t)(uintptr_t)SIG_DFL)
		return default_ignores(signal);
	return handler == (uint64_t)(uintptr_t)SIG_IGN;
}

bool disposition_handles(const struct dispositions *dispositions, int signal)
{
	return dispositions->signal[signal].handler >
	       (uint64_t)(uintptr_t)SIG_IGN;
}

uint64_t disposition_mask(const struct dispositions *dispositions, int signal,
			  uint64_t mask)
{
	const struct disposition *d = &dispositions->signal[signal];

	mask |= d->mask;
	if (!(d->flags & SA_NODEFER))
		mask |= signal_bit(signal);
	return mask;
}
