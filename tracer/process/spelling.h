/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * spelling - names of C++ classes as people write them
 *
 * One name for what demanglers, GCC and Clang each write in a way of their
 * own: std::map<std::string, int>, const char*, unsigned long.  Default
 * arguments of the standard library's templates go, and its inline namespaces
 * (__cxx11 of libstdc++, __1 of libc++).
 */

#include "base/macro.h"

/* A new string; NULL: no memory.  What is no type's name stays as it is. */
char *spelling_plain(const char *name);

/* Where the last part of a qualified name begins, and where its <> begin. */
size_t spelling_last(const char *name, size_t *length);
