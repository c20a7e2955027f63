/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * minidebug - the symbol table that a stripped file carries along, packed
 *
 * The section .gnu_debugdata holds an ELF file, compressed by xz, that has
 * the .symtab entries of functions which .dynsym lacks.  The only file that
 * knows liblzma.
 */

#include "base/macro.h"

/* Unpack it from @fd: a descriptor of the ELF file, or -errno. */
int minidebug_open(int fd) _must_check_;
