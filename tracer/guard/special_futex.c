/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/futex.h>

#include "tracer/guard/special.h"
#include "tracer/guard/syscalls_table.h"

/*
 * The words of one operation: what is done with them, and whether it sleeps
 * (the fourth argument is then a timeout).  To wake, the kernel needs the
 * address only: direction 0.
 */
struct operation {
	bool used, second, sleeps;
	uint8_t first_direction, second_direction;
};

static const struct operation operations[] = {
	[FUTEX_WAIT] = { true, false, true, BUFFER_IN, 0 },
	[FUTEX_WAKE] = { true, false, false, 0, 0 },
	[FUTEX_REQUEUE] = { true, true, false, 0, 0 },
	[FUTEX_CMP_REQUEUE] = { true, true, false, BUFFER_IN, 0 },
	[FUTEX_WAKE_OP] = { true, true, false, 0, BUFFER_IN | BUFFER_OUT },
	[FUTEX_LOCK_PI] = { true, false, true, BUFFER_IN | BUFFER_OUT, 0 },
	[FUTEX_UNLOCK_PI] = { true, false, false, BUFFER_IN | BUFFER_OUT, 0 },
	[FUTEX_TRYLOCK_PI] = { true, false, false, BUFFER_IN | BUFFER_OUT, 0 },
	[FUTEX_WAIT_BITSET] = { true, false, true, BUFFER_IN, 0 },
	[FUTEX_WAKE_BITSET] = { true, false, false, 0, 0 },
	[FUTEX_WAIT_REQUEUE_PI] = { true, true, true, BUFFER_IN,
				    BUFFER_IN | BUFFER_OUT },
	[FUTEX_CMP_REQUEUE_PI] = { true, true, false, BUFFER_IN,
				   BUFFER_IN | BUFFER_OUT },
	[FUTEX_LOCK_PI2] = { true, false, true, BUFFER_IN | BUFFER_OUT, 0 },
};

void special_futex(struct planner *planner)
{
	uint32_t command =
		(uint32_t)planner->call->args[1] & (uint32_t)FUTEX_CMD_MASK;
	const struct operation *operation;

	/* ENOSYS */
	if (command >= ARRAY_SIZE(operations) || !operations[command].used)
		return;

	operation = &operations[command];
	plan_add_argument(planner, 0, SIZE_INT, operation->first_direction);
	if (operation->second)
		plan_add_argument(planner, 4, SIZE_INT,
				  operation->second_direction);
	if (operation->sleeps)
		plan_add_argument(planner, 3, SIZE_TIME, BUFFER_IN);
	else
		planner->plan->flags &= ~(unsigned)CALL_BLOCKS;
}

/* FUTEX2_SIZE_U8 to U64 are the two low bits. */
static uint64_t word_size(uint64_t flags)
{
	return UINT64_C(1) << (flags & 3);
}

void special_futex_wait(struct planner *planner)
{
	plan_add_argument(planner, 0, word_size(planner->call->args[3]),
			  BUFFER_IN);
}

void special_futex_wake(struct planner *planner)
{
	plan_add_argument(planner, 0, word_size(planner->call->args[3]), 0);
}

/* struct futex_waitv: value, address, flags. */
static void add_waiters(struct planner *planner, uint64_t count)
{
	uint64_t array = planner->call->args[0], i;
	int parent = plan_add_argument(planner, 0, count * SIZE_FUTEX_WAITER,
				       BUFFER_IN);

	for (i = 0; i < count && parent >= 0; i++) {
		uint64_t offset = i * SIZE_FUTEX_WAITER, waiter[3];
		struct buffer_use use;

		if (planner->plan->overflow ||
		    !plan_read(planner, array + offset, waiter, sizeof(waiter)))
			return;
		use = plan_nested(parent, offset + 8, waiter[1],
				  word_size(waiter[2]), BUFFER_IN);
		plan_add(planner, &use);
	}
}

void special_futex_waiters(struct planner *planner)
{
	enum {
		WAITERS = 128, /* FUTEX_WAITV_MAX */
	};

	if ((uint32_t)planner->call->args[1] <= WAITERS)
		add_waiters(planner, (uint32_t)planner->call->args[1]);
}

void special_futex_requeue(struct planner *planner)
{
	add_waiters(planner, 2);
}
