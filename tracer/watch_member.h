/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watch_member - the member that a spec of a watch names, as bytes
 *
 * Only what debug information tells has members.
 */

#include "tracer/watch_find.h"

/*
 * Cut @name before a member, of several possible ones the last: a.b[3] to a.b,
 * then to a.  What was cut off is kept for member_of(), with its dot or
 * bracket.  false: there is none left.
 */
bool member_cut(char *name);

/*
 * The bytes of the member @path (".max", "[3].max") of the variable @symbol
 * join the watch.
 */
int member_of_symbol(struct finder *finder, const struct symbol *symbol,
		     const char *path) _must_check_;

/* The same of an object; how many there are, or -errno. */
int member_of_object(struct finder *finder, const struct component *object,
		     const char *path) _must_check_;
