/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * value - the text of an option, into a number or a file name
 *
 * Strict: no white space, no sign, nothing left over, no locale.
 */

#include "base/error.h"

/* Decimal digits, between @min and @max.  0, -EINVAL or -ERANGE. */
int value_count(const char *text, uint64_t min, uint64_t max,
		uint64_t *ret) _must_check_;

/* "2", "0.5": more than 0, at most @max.  0, -EINVAL or -ERANGE. */
int value_positive(const char *text, double max, double *ret) _must_check_;

/* Seconds, or a number with ms, s, m or h.  0, -EINVAL or -ERANGE. */
int value_duration(const char *text, double *ret) _must_check_;

/*
 * The file that -o names: %q{VAR} is replaced by the environment's VAR.  What
 * is left are %p, for the number of a process, and %%, a percent sign.  A new
 * string in *@ret, or -errno with the sentence.
 */
int value_output(const char *text, char **ret, struct error *err) _must_check_;
