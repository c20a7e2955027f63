/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * lines - the source of an address: file, line, and inlined functions
 *
 * By libdw (DWARF 2 to 5), as types.h.  Nothing is read before the
 * first question, and of the file only what that needs.
 */

#include "base/macro.h"

struct line {
	const char *function; /* mangled; inlined there.  NULL: the function
				 that a symbol names */
	const char *file;     /* as the compiler was told; NULL: not known */
	unsigned line;	      /* 0: not known */
};

struct lines;
struct Dwarf; /* libdw's */

/* Takes @fd.  NULL: no memory. */
struct lines *lines_open(int fd);
void lines_free(struct lines *lines);
DEFINE_CLEANUP(lines)

/*
 * The frames that @addr, an address of the file, stands for, innermost first;
 * at most @max, not 0.  Returns how many; strings live as long as @lines.
 */
size_t lines_at(struct lines *lines, uint64_t addr, struct line *ret,
		size_t max);

/* What types.h reads, too; NULL: there is none. */
struct Dwarf *lines_dwarf(struct lines *lines);
