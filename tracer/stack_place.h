/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stack_place - whose of a thread's frames has an address
 */

#include "tracer/session.h"

struct stack_asker {
	struct session *session;
	const struct user_regs_struct *regs;
	bool asked, found; /* several runtimes ask, of one address */
	struct stack_place place;
};

/* For struct query: @context is a struct stack_asker. */
bool stack_place(void *context, uint64_t addr, struct stack_place *ret);
