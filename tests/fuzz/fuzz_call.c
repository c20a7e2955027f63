/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any system call with any arguments, on memory of which two pages can be
 * read.
 *
 * Input: the number (2 bytes), a byte whose bits say which arguments are
 * offsets into those pages, six arguments, then what is in the pages.
 */
#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "tracer/guard/syscalls.h"

#define BASE UINT64_C(0x100000)

enum {
	SIZE = 8192,
	/* exec's strings of 128 KiB, in pieces of 256 bytes, and as many */
	READS_MAX = 65536,
};

struct pages {
	uint8_t bytes[SIZE];
	unsigned reads;
};

static int pages_read(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct pages *pages = context;

	pages->reads++;
	if (addr < BASE || addr >= BASE + SIZE || size > BASE + SIZE - addr)
		return -EFAULT;
	memcpy(buffer, pages->bytes + (addr - BASE), size);
	return 0;
}

static void check_buffer(const struct call_plan *plan, unsigned i)
{
	const struct buffer_use *use = &plan->buffer[i];
	uint64_t end;

	expect(use->addr && use->size);
	expect(!__builtin_add_overflow(use->addr, use->size, &end));
	expect(!(use->direction & ~(BUFFER_IN | BUFFER_OUT)));
	expect(use->written <= WRITTEN_LENGTH);
	expect(use->parent >= -1 && use->parent < (int)i);
	if (use->parent < 0)
		expect(use->place < 6);
	else
		expect(use->place + UINT64_C(8) <=
		       plan->buffer[use->parent].size);
	expect(use->counter >= -1 && use->counter < (int)plan->count);
	if (use->written == WRITTEN_LENGTH)
		expect(use->counter >= 0 &&
		       use->counter_place + UINT64_C(4) <=
			       plan->buffer[use->counter].size);
}

static void check_written(const struct call_plan *plan, unsigned i)
{
	static const int64_t results[] = { -4095,     -1,	 0,
					   1,	      64,	 INT32_MAX,
					   INT64_MAX, INT64_MIN, UINT32_MAX };

	for (size_t k = 0; k < ARRAY_SIZE(results); k++) {
		uint64_t n = call_written(plan, i, results[k]);

		expect(n <= plan->buffer[i].size);
		expect(results[k] >= 0 || n == 0);
	}
	expect(call_share(plan, i, UINT64_MAX) <= plan->buffer[i].size);
}

static void check(const struct call *call, const struct call_plan *plan)
{
	expect(plan->kind <= CALL_UNKNOWN);
	expect(plan->count <= CALL_BUFFERS);
	expect(plan->kind != CALL_NONE || plan->count == 0);
	expect(syscall_name(call->number) || plan->kind == CALL_UNKNOWN);
	/* Whether it changes the map is known from its number. */
	expect(!(plan->flags & CALL_MAPS & ~call_flags(call->number)));
	for (unsigned i = 0; i < plan->count; i++) {
		check_buffer(plan, i);
		check_written(plan, i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pages pages;
	struct memory memory = { &pages, pages_read, NULL };
	struct input input = { data, size };
	struct call_plan plan, again;
	struct call call = { 0 };
	uint8_t near;

	input_take(&input, &call.number, 2);
	if (call.number == UINT16_MAX)
		call.number = -1;
	near = input_byte(&input);
	for (unsigned i = 0; i < ARRAY_SIZE(call.args); i++) {
		call.args[i] = input_word(&input);
		if (near >> i & 1)
			call.args[i] = BASE + call.args[i] % SIZE;
	}
	input_take(&input, pages.bytes, SIZE);
	pages.reads = 0;
	call_describe(&call, &memory, &plan);
	expect(pages.reads <= READS_MAX);
	check(&call, &plan);

	/* Nothing hangs on what was in the plan. */
	memset(&again, 0xa5, sizeof(again));
	call_describe(&call, &memory, &again);
	expect(again.count == plan.count && again.kind == plan.kind &&
	       again.flags == plan.flags && again.overflow == plan.overflow);
	for (unsigned i = 0; i < plan.count; i++)
		expect(again.buffer[i].addr == plan.buffer[i].addr &&
		       again.buffer[i].size == plan.buffer[i].size);
	return 0;
}
