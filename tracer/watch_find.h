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
	size_t spec;	/* being looked for */
	size_t without; /* objects that have not the member that is wanted */
};

/* Add what spec number @i wants to the watched bytes. */
int finder_spec(struct finder *finder, size_t i) _must_check_;

/* Writable memory of this process alone, where objects can lie. */
bool finder_holds_objects(const struct finder *finder, const struct mapping *m);

/* Objects of a class, or their member. */
int finder_class(struct finder *finder, struct spec *spec) _must_check_;

/* Of classes all memory where objects may be born. */
int finder_births(struct finder *finder) _must_check_;

/* These bytes join the watch, for the spec that is looked for. */
int finder_want(struct finder *finder, uint64_t start,
		uint64_t end) _must_check_;

/* No watch given: all writable private memory that can hold objects. */
int finder_default(struct finder *finder) _must_check_;
