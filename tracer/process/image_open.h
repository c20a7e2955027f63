/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * image_open - the bytes behind a mapping, as a descriptor for reading
 *
 * Never opens what is not a regular file: that could block, or do something.
 */

#include <sys/stat.h>
#include <sys/types.h>

#include "tracer/process/elf.h"
#include "tracer/process/maps.h"

/* The mapped file, or the vdso copied out of the process; or -errno. */
int image_open(pid_t pid, const struct mapping *mapping,
	       struct stat *ret) _must_check_;

/* The separate debug file with the same build-id, or -errno. */
int image_open_debug(pid_t pid, const struct elf_layout *layout) _must_check_;
