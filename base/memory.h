/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * memory - bytes of somebody else, behind two functions
 *
 * Whoever decodes, executes, unwinds or names objects reads the target
 * through this, so that tests can give it an array or a core file.
 */

#include "base/macro.h"

struct memory {
	void *context;

	/*
	 * Read exactly @size bytes at @addr.  0, or -EFAULT if any of them
	 * cannot be read, or another -errno (-ESRCH: the target is gone).
	 */
	int (*read)(void *context, uint64_t addr, void *buffer, size_t size);

	/*
	 * The same for writing, all or nothing; NULL where nothing may be
	 * written.
	 */
	int (*write)(void *context, uint64_t addr, const void *buffer,
		     size_t size);
};

static inline int memory_read(const struct memory *memory, uint64_t addr,
			      void *buffer, size_t size)
{
	return memory->read(memory->context, addr, buffer, size);
}

static inline int memory_write(const struct memory *memory, uint64_t addr,
			       const void *buffer, size_t size)
{
	return memory->write(memory->context, addr, buffer, size);
}
