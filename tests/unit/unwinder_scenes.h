/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * unwinder_scenes - places to stop at, for a child whose stack is unwound
 *
 * The child writes down its own call chain by libgcc's unwinder.
 */

enum { KNOWN_MAX = 1200 };

/* What the child tells, in memory that both have. */
struct shared {
	void *known[KNOWN_MAX]; /* the chain, from the noting function on */
	int count;
	int done; /* the scene is about to stop for the last time */
};

extern struct shared *shared;

/* Each stops by int3, or does not return (sleep). */
void scene_recursion(int argument);
void scene_register(int argument);
void scene_handler(int argument);
void scene_callback(int argument);
void scene_leaf_table(int argument);
void scene_leaf_pointer(int argument);
void scene_leaf_nothing(int argument);
void scene_sleep(int argument);
void scene_thread(int argument);
void scene_coroutine(int argument);
void scene_mixture(int argument);

/* The assembler leaves of scene_leaf_*. */
void leaf_table(void);
void leaf_pointer(void);
void leaf_nothing(void);

/* Of scene_register. */
void frame_rbx(void);
void frame_inner(void);
