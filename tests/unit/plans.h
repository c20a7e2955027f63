/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * plans - a fake memory for call_describe(), and what its plans should be
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tracer/guard/syscalls.h"

/* Two pages at BASE; no other address can be read. */
#define BASE UINT64_C(0x100000)

enum {
	SIZE = 8192,
};

struct fake {
	uint8_t bytes[SIZE];
	unsigned reads;
};

static inline int fake_read(void *context, uint64_t addr, void *buffer,
			    size_t size)
{
	struct fake *fake = context;

	fake->reads++;
	if (addr < BASE || addr >= BASE + SIZE || size > BASE + SIZE - addr)
		return -EFAULT;
	memcpy(buffer, fake->bytes + (addr - BASE), size);

	return 0;
}

static inline void put(struct fake *fake, uint64_t addr, const void *data,
		       size_t size)
{
	memcpy(fake->bytes + (addr - BASE), data, size);
}

static inline void put_word(struct fake *fake, uint64_t addr, uint64_t word)
{
	put(fake, addr, &word, sizeof(word));
}

static inline void describe(struct fake *fake, int number,
			    const uint64_t args[6], struct call_plan *ret)
{
	struct memory memory = { fake, fake_read, NULL };
	struct call call = { .number = number };

	memcpy(call.args, args, sizeof(call.args));
	call_describe(&call, &memory, ret);
}

#define DESCRIBE(fake, number, plan, ...)                                      \
	describe(fake, number, (const uint64_t[6]){ __VA_ARGS__ }, plan)

/* What a buffer of a plan should be; all of them must match. */
struct want {
	uint64_t addr, size;
	int direction, parent;
	uint32_t place;
};

static inline void expect(const struct call_plan *plan, const struct want *want,
			  unsigned count, const char *name)
{
	unsigned i;

	if (plan->count != count)
		fail_msg("%s: %u buffers, expected %u", name, plan->count,
			 count);
	for (i = 0; i < count; i++) {
		const struct buffer_use *b = &plan->buffer[i];

		if (b->addr != want[i].addr || b->size != want[i].size ||
		    b->direction != want[i].direction ||
		    b->parent != want[i].parent || b->place != want[i].place)
			fail_msg("%s: buffer %u: %#lx+%lu direction %d parent "
				 "%d place %u",
				 name, i, (unsigned long)b->addr,
				 (unsigned long)b->size, b->direction,
				 b->parent, b->place);
	}
}

#define IN   BUFFER_IN
#define OUT  BUFFER_OUT
#define BOTH (BUFFER_IN | BUFFER_OUT)
