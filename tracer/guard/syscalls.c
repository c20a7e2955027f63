/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/guard/syscalls.h"

#include "tracer/guard/syscalls_table.h"

const struct syscall_row *syscall_row(int number)
{
	static const struct syscall_range *const ranges[] = {
		&syscalls_low,
		&syscalls_high,
		&syscalls_new,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		int64_t at = (int64_t)number - ranges[i]->first;

		if (at >= 0 && at < ranges[i]->count)
			return &ranges[i]->rows[at];
	}

	return NULL;
}

const char *syscall_name(int number)
{
	const struct syscall_row *row = syscall_row(number);

	return row ? row->name : NULL;
}

unsigned call_flags(int number)
{
	const struct syscall_row *row = syscall_row(number);

	return row ? row->flags : 0;
}

void call_describe(const struct call *call, const struct memory *memory,
		   struct call_plan *plan)
{
	const struct syscall_row *row = syscall_row(call->number);
	struct planner planner = { call, memory, plan };
	size_t i;

	plan->flags = row ? row->flags : 0;
	plan->kind = row ? row->kind : CALL_UNKNOWN;
	plan->count = 0;
	plan->overflow = false;
	plan->open_ended = false;
	if (!row)
		return;

	for (i = 0; i < ARRAY_SIZE(row->rules); i++)
		rule_add(&planner, &row->rules[i]);
	if (row->more)
		row->more(&planner);

	if (plan->kind == CALL_NONE && (plan->count || plan->overflow))
		plan->kind = CALL_BUFFERED;
}

static bool same_kind(const struct buffer_use *a, const struct buffer_use *b)
{
	return a->written == b->written && a->counter == b->counter &&
	       a->counter_place == b->counter_place;
}

uint64_t call_share(const struct call_plan *plan, unsigned i, uint64_t total)
{
	const struct buffer_use *use = &plan->buffer[i];
	unsigned k;

	for (k = 0; k < i; k++) {
		if (same_kind(&plan->buffer[k], use))
			total -= min_u64(total, plan->buffer[k].size);
	}

	return min_u64(total, use->size);
}

uint64_t call_written(const struct call_plan *plan, unsigned i, int64_t result)
{
	const struct buffer_use *use = &plan->buffer[i];

	if (result < 0 || result < use->least)
		return 0;
	if (use->written == WRITTEN_FITS)
		return (uint64_t)result > use->size ? 0 : (uint64_t)result;
	if (use->written != WRITTEN_RESULT)
		return use->size;

	return call_share(plan, i,
			  plan_product((uint64_t)result, use->unit) +
				  use->extra);
}
