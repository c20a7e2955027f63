/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/guard/plan.h"

/* With five page-table levels; more is a kernel address: always EFAULT. */
#define USER_END (UINT64_C(1) << 56)

/* Nothing is mapped lower (vm.mmap_min_addr): a number, not a pointer. */
#define USER_START UINT64_C(0x10000)

struct buffer_use plan_nested(int parent, uint64_t offset, uint64_t addr,
			      uint64_t size, uint8_t direction)
{
	return (struct buffer_use){
		.addr = addr,
		.size = size,
		.direction = direction,
		.parent = (int8_t)parent,
		.place = (uint32_t)offset,
		.written = WRITTEN_COMPARE,
		.unit = 1,
		.counter = -1,
	};
}

struct buffer_use plan_argument(const struct planner *planner, unsigned arg,
				uint64_t size, uint8_t direction)
{
	return plan_nested(-1, arg, planner->call->args[arg], size, direction);
}

/* A structure that is cut short before its pointer does not hold it. */
static bool holds_pointer(const struct call_plan *plan,
			  const struct buffer_use *use)
{
	return use->parent < 0 ||
	       use->place + sizeof(uint64_t) <= plan->buffer[use->parent].size;
}

int plan_add(struct planner *planner, const struct buffer_use *use)
{
	struct call_plan *plan = planner->plan;

	if (!use->addr || !use->size || use->addr >= USER_END ||
	    !holds_pointer(plan, use))
		return -1;
	if (plan->count == CALL_BUFFERS) {
		plan->overflow = true;
		return -1;
	}

	plan->buffer[plan->count] = *use;
	plan->buffer[plan->count].size =
		min_u64(use->size, USER_END - use->addr);

	return (int)plan->count++;
}

int plan_add_argument(struct planner *planner, unsigned arg, uint64_t size,
		      uint8_t direction)
{
	struct buffer_use use = plan_argument(planner, arg, size, direction);

	return plan_add(planner, &use);
}

bool plan_read(const struct planner *planner, uint64_t addr, void *word,
	       size_t size)
{
	if (addr < USER_START || addr >= USER_END)
		return false;

	return memory_read(planner->memory, addr, word, size) == 0;
}

/*
 * Bytes up to and with the NUL; @limit if there is none before; those that
 * there are if memory ends first.  No read crosses a page, as the next one may
 * be missing.
 */
static uint64_t string_size(const struct planner *planner, uint64_t addr,
			    uint64_t limit, bool *ends)
{
	uint64_t size = 0;
	char piece[256];

	while (size < limit) {
		uint64_t left = page_down(addr + size) + PAGE - addr - size;
		size_t n = (size_t)min_u64(min_u64(left, sizeof(piece)),
					   limit - size);
		const char *end;

		if (!plan_read(planner, addr + size, piece, n)) {
			*ends = true;
			return size;
		}
		end = memchr(piece, '\0', n);
		if (end)
			return size + (uint64_t)(end - piece) + 1;
		size += n;
	}

	return limit;
}

int plan_string(struct planner *planner, struct buffer_use use, uint64_t limit)
{
	bool ends = false;

	if (!use.addr)
		return -1;
	use.size = string_size(planner, use.addr, limit, &ends);
	/* The kernel may read less than we, and say so; or it finds the end,
	 * which it would not behind a copy. */
	if (ends && use.size && planner->plan->kind != CALL_UNKNOWN)
		planner->plan->kind = CALL_IN_PLACE;

	return plan_add(planner, &use);
}

/* Elements before the null pointer, at most as many as find a place. */
static unsigned count_pointers(const struct planner *planner, uint64_t addr)
{
	unsigned n;

	for (n = 0; n < CALL_BUFFERS; n++) {
		uint64_t pointer;

		if (!plan_read(planner, addr + 8 * n, &pointer, 8) || !pointer)
			break;
	}

	return n;
}

void plan_strings(struct planner *planner, unsigned arg)
{
	uint64_t array = planner->call->args[arg];
	unsigned i, count = count_pointers(planner, array);
	int parent =
		plan_add_argument(planner, arg, 8 * (count + 1), BUFFER_IN);

	for (i = 0; i < count && parent >= 0; i++) {
		uint64_t addr;

		if (planner->plan->overflow ||
		    !plan_read(planner, array + 8 * i, &addr, 8))
			return;
		plan_string(planner,
			    plan_nested(parent, 8 * i, addr, 0, BUFFER_IN),
			    PLAN_EXEC);
	}
}

void plan_filter(struct planner *planner, const struct buffer_use *program)
{
	struct {
		uint16_t count;
		uint64_t filter;
	} fprog;
	struct buffer_use code;
	int parent = plan_add(planner, program);

	if (parent < 0 ||
	    !plan_read(planner, program->addr, &fprog, sizeof(fprog)))
		return;

	/* struct sock_filter has 8 bytes. */
	code = plan_nested(parent, 8, fprog.filter, 8 * (uint64_t)fprog.count,
			   BUFFER_IN);
	plan_add(planner, &code);
}

void plan_suspect(struct planner *planner, uint64_t value)
{
	char byte;

	if (plan_read(planner, value, &byte, 1))
		planner->plan->kind = CALL_UNKNOWN;
}

void plan_suspect_words(struct planner *planner, uint64_t addr, uint64_t size)
{
	uint64_t at, word, end = min_u64(size, PAGE);

	for (at = 0; at + sizeof(word) <= end; at += sizeof(word)) {
		if (!plan_read(planner, addr + at, &word, sizeof(word)))
			return;
		plan_suspect(planner, word);
	}
}
