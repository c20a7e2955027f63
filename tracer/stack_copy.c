/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/ahead.h"

enum { COPY_BELOW = 1024 };

void stack_still(struct session *session, bool still)
{
	session->stacks.copy.still = still;
	session->stacks.copy.size = 0;
	session->stacks.last.text = NULL;
}

void stack_stored(struct session *session, uint64_t addr, const void *bytes,
		  size_t size)
{
	struct stack_copy *copy = &session->stacks.copy;
	uint64_t start = max_u64(addr, copy->start);
	uint64_t end = min_u64(addr + size, copy->start + copy->size);

	if (stack_managed_stored(session, addr, size))
		session->stacks.last.text = NULL;
	if (start >= end)
		return;
	memcpy(copy->bytes + (start - copy->start),
	       (const char *)bytes + (start - addr), end - start);
	session->stacks.last.text = NULL;
}

/* And what lies below, where the next functions that are called begin. */
static int make_copy(struct session *session, uint64_t addr, size_t size)
{
	struct memory memory = session_memory(session);
	struct stack_copy *copy = &session->stacks.copy;
	size_t want = size + COPY_BELOW;
	int r;

	copy->size = 0;
	if (want > copy->allocated) {
		char *bytes = realloc(copy->bytes, want);

		if (!bytes)
			return -ENOMEM;
		copy->bytes = bytes;
		copy->allocated = want;
	}
	r = memory_read(&memory, addr - COPY_BELOW, copy->bytes, want);
	if (r < 0)
		return r;
	copy->start = addr - COPY_BELOW;
	copy->size = want;
	return 0;
}

int stack_copy_read(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct session *session = context;
	struct memory memory = session_memory(session);
	struct stack_copy *copy = &session->stacks.copy;
	bool holds = copy->size >= size && addr >= copy->start &&
		     addr - copy->start <= copy->size - size;

	session->stacks.unread += holds;
	if (!holds && copy->still && addr <= copy->sp && copy->sp - addr < size)
		holds = make_copy(session, addr, size) == 0;
	if (!holds) {
		copy->missed = true;
		return memory_read(&memory, addr, buffer, size);
	}
	memcpy(buffer, copy->bytes + (addr - copy->start), size);
	return 0;
}
