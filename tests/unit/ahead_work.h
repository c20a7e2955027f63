/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ahead_work - loops over an array, as compilers make them
 *
 * They are run by the processor and by ahead.h, and compared.
 */

#include "base/macro.h"

enum { AHEAD_WORDS = 512 };

struct ahead_work {
	const char *name;
	uint64_t (*run)(uint64_t *words); /* AHEAD_WORDS of them */
	uint64_t least;			  /* accesses that it makes, at least */
	bool stack;			  /* none of them without the stack */
	bool avx2;			  /* needs it */
};

extern const struct ahead_work ahead_works[];
extern const size_t ahead_works_count;
