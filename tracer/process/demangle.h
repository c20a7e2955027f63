/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * demangle - linker names as people write them
 *
 * The only file that knows libiberty (C++ Itanium ABI and Rust).
 */

#include "base/macro.h"

/*
 * A new string, or NULL if @name is not mangled.  Also takes a bare type name
 * as in a type_info ("N3zoo4LionE").  Refuses names that are too deep.
 */
char *demangle(const char *name);

/* The same without parameters and return type: ns::run, not ns::run(int). */
char *demangle_short(const char *name);
