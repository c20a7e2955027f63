/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * live_run - one run of a live case in a child, plain or through a bounce
 */

#include "tests/unit/live.h"
#include "tracer/guard/bounce.h"

enum {
	ALL = -1, /* guard the whole arena, not one buffer of it */
};

/* What a child tells: it lies in memory that it shares with us. */
struct outcome {
	int64_t result;
	int error;    /* of bounce_begin() or bounce_end() */
	bool strayed; /* the kernel wrote beside the buffers in the room */
	struct call_plan plan;
	unsigned count;
	struct bounce_use uses[CALL_BUFFERS];
	uint8_t before[LIVE_ARENA], after[LIVE_ARENA];
};

struct world {
	uint8_t *arena;
	struct outcome *plain[2], *bounced;
};

/* The result of waitpid() on the child: 0 if it came to its end. */
int live_run(const struct world *world, const struct live_case *row,
	     uint8_t fill, bool bounced, int guard, struct outcome *ret);
