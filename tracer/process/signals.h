/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * signals - what a process does with its signals, as we last saw it
 *
 * The kernel changes dispositions and masks behind the program's back when a
 * thread faults on a closed page while it blocks or ignores SIGSEGV, and
 * likewise SIGTRAP by a single step.  To put them back, and to know whether a
 * signal interrupts a call, we keep what the program set.
 */

#include "base/macro.h"

enum {
	SIGNALS = 64,
	SIGNAL_RESTORER = 0x04000000, /* SA_RESTORER, which glibc hides */
};

/* struct sigaction as the kernel has it on x86-64. */
struct disposition {
	uint64_t handler; /* 0 SIG_DFL, 1 SIG_IGN */
	uint64_t flags;
	uint64_t restorer;
	uint64_t mask;
};

struct dispositions {
	bool known;
	struct disposition signal[SIGNALS + 1]; /* [0] is unused */
};

static inline uint64_t signal_bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

/* Delivering it changes nothing: ignored, or ignored by default. */
bool disposition_ignores(const struct dispositions *dispositions, int signal);

/* Delivering it runs a function of the program's. */
bool disposition_handles(const struct dispositions *dispositions, int signal);

/* The mask of a thread that blocked @mask, inside the handler of @signal. */
uint64_t disposition_mask(const struct dispositions *dispositions, int signal,
			  uint64_t mask);

/* @signal is given to its handler, which SA_RESETHAND takes away. */
void disposition_given(struct dispositions *dispositions, int signal);
