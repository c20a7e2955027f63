/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * registry - which runtimes are in the process
 *
 * Each is opened at the first question after it came, never before: most are
 * in no process, and some take milliseconds.  One whose module goes away is
 * closed.
 */

#include "tracer/component/runtime.h"

enum { RUNTIMES = 16 };

struct registry {
	const struct runtime *const *table; /* ends with NULL */
	const struct view *view;
	struct entry {
		void *state;
		bool open;
		bool later; /* it asked to be tried when the map changes */
		bool named; /* it named something, so it is there */
		bool news;  /* found, and not told yet */
		bool told;
		struct runtime_info info;
	} entry[RUNTIMES];
	unsigned generation; /* of the modules that were looked at */
	bool looked;
	bool news; /* of any */
};

void registry_init(struct registry *registry,
		   const struct runtime *const *table, const struct view *view);
void registry_done(struct registry *registry);

/* The map changed. */
void registry_remap(struct registry *registry);

/* Open what came; cheap where nothing did. */
void registry_look(struct registry *registry);

/* Something was named by the runtime at @i of the table. */
void registry_named(struct registry *registry, size_t i);

bool registry_found(struct registry *registry, struct runtime_info *ret);
