/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * descriptors - what a process has open, by the names that /proc gives
 *
 * A pattern is one of fnmatch(3) without flags, so the bracket of
 * "anon_inode:[io_uring]" must be quoted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Is one of all that it has open of one of the @count patterns? */
bool descriptors_any(pid_t pid, const char *const patterns[], size_t count);

/* Visit each that is of @pattern, until that returns non-zero; returns it. */
int descriptors_each(pid_t pid, const char *pattern,
		     int (*visit)(void *context, int fd), void *context);

/* Is descriptor @fd? */
bool descriptors_match(pid_t pid, int fd, const char *pattern);
