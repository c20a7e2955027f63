/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * spelling_std - the standard library's templates, without what is default
 */

#include "base/buffer.h"

enum { SPELLING_ARGUMENTS = 64 };

/* Where in the buffer each string begins. */
struct spelling_arguments {
	size_t at[SPELLING_ARGUMENTS];
	unsigned count;
};

/*
 * @out ends in a template's name, which begins at @name, and behind it, from
 * @start on, its arguments, each a string of its own.  They become text.
 */
void spelling_shorten(struct buffer *out, size_t name, size_t start,
		      const struct spelling_arguments *list);
