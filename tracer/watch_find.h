/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watch_find - one spec of a watch, looked for in a process
 *
 * The half of watch.c that knows symbols, classes and mappings.
 */

#include "tracer/watch.h"

struct finder {
	struct watch *watch;
	struct process *process;
	const struct guard *guard;
	struct resolver *resolver;
	struct error *err;
	size_t spec; /* being looked for */
};

/* Add what spec number @i wants to the watched bytes. */
int finder_spec(struct finder *finder, size_t i) _must_check_;

/* No watch given: all writable private memory that can hold objects. */
int finder_default(struct finder *finder) _must_check_;
