/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scopes - what of a program's text is around an instruction, for lines.c and
 * locals.c
 */

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/macro.h"

/*
 * The unit that has @addr, by the index, or, as some compilers write none, by
 * looking at each.
 */
bool scopes_unit(Dwarf *dwarf, uint64_t addr, Dwarf_Die *ret);

/*
 * The scopes that really are around @addr, the innermost first, up to the
 * unit: beyond an inlined function dwarf_getscopes() goes on where that was
 * defined.  How many there are, in a new array, or 0 or less.
 */
int scopes_at(Dwarf_Die *unit, uint64_t addr, Dwarf_Die **ret);
