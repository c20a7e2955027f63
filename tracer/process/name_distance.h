/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * name_distance - how near a name is to the one asked for
 *
 * For "did you mean".
 */

#include <limits.h>

enum { NAME_FAR = INT_MAX };

/* Edits that make @name of @wanted; NAME_FAR: too many to have been meant. */
unsigned name_distance(const char *wanted, const char *name);
