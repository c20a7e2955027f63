/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * runtime - one way to name memory, and what all of them share
 *
 * A runtime is a table of functions; all its state is in what open() gives.
 */

#include "base/caller.h"
#include "tracer/component/component.h"
#include "tracer/component/heap.h"
#include "tracer/component/managed.h"
#include "tracer/component/pages.h"

struct view {
	const struct world *world;
	struct pages *pages;
	struct heap *heap;
};

struct scan {
	uint64_t start, end;
	const char *class; /* a glob */
	int (*visit)(void *context, const struct component *object);
	void *context;
};

struct runtime {
	const char *name;
	bool grows; /* its classes are made while the program runs */

	/*
	 * Called at the first question, and again when modules came.  -ENOENT:
	 * there is nothing of it in this process, which must be cheap to say:
	 * by the name of a module (view_module()), or one symbol of one module.
	 * -EAGAIN: it is being loaded; again when the map changes.  Judge by
	 * what does not change, as symbols and constants: what the runtime
	 * fills in when it starts may come later, and is looked at when asked.
	 */
	int (*open)(const struct view *view, void **ret);
	void (*close)(void *state);

	/*
	 * What was found, for the user: all but the name.  With a reason it is
	 * closed again.  NULL: every process has it, and nothing is told.
	 */
	void (*about)(void *state, struct runtime_info *ret);

	/*
	 * Fill *ret, which is zeroed, with the best answer; confidence stays
	 * CONFIDENCE_NONE if there is none.
	 */
	void (*resolve)(void *state, const struct query *query,
			struct component *ret);

	/* The target ran; modules came or went.  Either may be NULL. */
	void (*epoch)(void *state);
	void (*remap)(void *state);

	/* For resolver_objects() and resolver_classes(); may be NULL. */
	int (*each)(void *state, const struct scan *scan);
	int (*classes)(void *state,
		       int (*visit)(void *context, const char *name),
		       void *context);

	/*
	 * Append the functions of this runtime that stand in a call stack, in
	 * the manner of managed.h; may be NULL.  -ENOENT: there are none, and
	 * nothing was changed.
	 */
	int (*frames)(void *state, const struct stack_query *query,
		      struct managed *managed);

	/* For resolver_code(); may be NULL.  False: there is none yet. */
	bool (*code)(void *state, struct code *ret);

	/* For resolver_member(); may be NULL. */
	size_t (*member)(void *state, const struct component *object,
			 const char *path, struct extent *ret, size_t max);
};

/* Is the address on the stack of the thread that asks? */
bool view_on_stack(const struct view *view, const struct query *query);

extern const struct runtime runtime_cpython;
extern const struct runtime runtime_hotspot;
extern const struct runtime runtime_cxx;
extern const struct runtime runtime_gobject;
extern const struct runtime runtime_ruby;
extern const struct runtime runtime_v8;
extern const struct runtime runtime_global;
extern const struct runtime runtime_tls;
extern const struct runtime runtime_frame;
extern const struct runtime runtime_owned;
extern const struct runtime runtime_heap;
extern const struct runtime runtime_mapping;

/*
 * The module whose name is @library or begins with it and a dot or dash, or
 * NULL.
 */
const struct module *view_module(const struct view *view, const char *library);

/* Copy a name, cut at the end of a character if it is too long. */
void component_name(struct component *component, const char *name);
