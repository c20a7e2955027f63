/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jitmap - names of code that a compiler made at run time
 *
 * As the process itself writes them to /tmp/perf-PID.map, for perf(1): lines
 * of "START SIZE NAME", in hexadecimal; where several cover an address the
 * last one holds.  Whatever is in the file is only text.
 */

#include <sys/stat.h>
#include <sys/types.h>

#include "base/buffer.h"

struct jitmap {
	bool wanted; /* it was asked */
	uint64_t looked_ns;
	struct stat stat; /* of the file, when it was read */
	struct buffer text;
	struct jit_function *function; /* by address, of equal ones by line */
	size_t count, allocated;
};

struct jit_function {
	uint64_t start, size;
	const char *name;
	size_t line;
};

void jitmap_done(struct jitmap *jitmap);

/*
 * Read the file of @pid again if it is another one; at most ten times a
 * second of @now, which is monotonic, and never before the first question.
 * Returns whether names may be others now, and those given out are void.
 */
bool jitmap_update(struct jitmap *jitmap, pid_t pid, uint64_t now);

/* The function at @addr, or NULL; the file is read at the first question. */
const struct jit_function *jitmap_at(struct jitmap *jitmap, pid_t pid,
				     uint64_t addr);
