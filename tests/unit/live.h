/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * live - real system calls, made ready so that they can be made again
 *
 * A case prepares one call whose buffers lie in an arena, apart from each
 * other.  It runs in a child of its own, so that each run finds the same
 * state.  Knows nothing of plans: the kernel is the oracle here.
 */

#include "tracer/guard/syscalls.h"

enum {
	LIVE_ARENA = 65536,
	LIVE_GAP = 80, /* canary bytes around each buffer */
};

enum {
	LIVE_CHANGES = 1,  /* its data differ from run to run */
	LIVE_FAILS = 2,	   /* an error is what the case is about */
	LIVE_MAY_FAIL = 4, /* not every kernel or file system has it */
	LIVE_HOLES = 8,	   /* it leaves padding as it was */
	LIVE_MOVES = 16,   /* its data differ from program to program */
	LIVE_REFUSED = 32, /* its pages are not guarded any longer */
	LIVE_UNSEEN = 64,  /* what it touches is not known, and we say so */
};

struct scene {
	struct call call;
	uint8_t *arena;
	uint64_t used;
	/* A place for a buffer that is not in the arena; none: it is. */
	void *(*place)(struct scene *scene, size_t size);
	void (*clean)(int id); /* removes what would outlive the child */
	int id;
};

struct live_case {
	const char *name;
	void (*prepare)(struct scene *scene);
	unsigned flags;
};

struct live_cases {
	const struct live_case *rows;
	size_t count;
};

/* A case that set_NAME() prepares. */
#define LIVE_ROW(call, how)                                                    \
	{                                                                      \
		.name = #call, .prepare = set_##call, .flags = (how)           \
	}

extern const struct live_cases live_files, live_control, live_network;
extern const struct live_cases live_poll, live_process, live_queues, live_rare;
extern const struct live_cases live_more, live_paths, live_place, live_short;

void *scene_space(struct scene *scene, size_t size);
void *scene_data(struct scene *scene, const void *data, size_t size);
char *scene_text(struct scene *scene, const char *text);

/* A pipe with "hello" in it, as two descriptors. */
void scene_pipe(int fds[2]);

/* An unnamed file with "0123456789" in it, at its start. */
int scene_file(void);

#define P(pointer) ((uint64_t)(uintptr_t)(pointer))

#define SCENE_CALL(scene, number_, ...)                                        \
	((scene)->call = (struct call){ .number = (number_),                   \
					.args = { __VA_ARGS__ } })
