/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * program - whether a file is of the kind that we trace
 *
 * Looks at the first bytes only; what is in the file is symbols.h's.
 */

#include "base/macro.h"

/*
 * "is a 32-bit program" or the like; NULL for an x86-64 one and for what is
 * no ELF file (a script, or nothing that runs: exec will say).
 */
const char *program_unsuitable(int fd);
