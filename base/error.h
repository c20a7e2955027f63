/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * error - one sentence for a person, beside the number for the program
 *
 * Numbers are -errno and are passed up unchanged.  A sentence is made only
 * before the target runs and after it ended; the caller owns it, there is no
 * allocation, and NULL is accepted wherever a struct error is asked for.
 */

#include "base/macro.h"

struct error {
	int number;	 /* -errno, 0 if none */
	char text[1024]; /* what failed, why, what helps */
};

/*
 * Write the sentence, and return @number for `return error_set(...)`.
 * The errno's own text is not added: say why in words.
 */
int error_set(struct error *err, int number, const char *format, ...)
	_printf_(3, 4);
