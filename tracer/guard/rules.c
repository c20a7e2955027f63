/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/guard/syscalls_table.h"

/* The size of an array: all but strings and what lies behind pointers. */
static uint64_t rule_size(const struct rule *rule, const struct call *call)
{
	uint64_t by = call->args[rule->by];

	switch ((enum rule_how)rule->how) {
	case RULE_SIZE:
		return rule->size;
	case RULE_COUNT:
		return plan_product(by, rule->size);
	case RULE_COUNT32:
		return plan_product(plan_int(by), rule->size);
	case RULE_BITS:
		return (plan_int(by) + 63) / 64 * 8;
	case RULE_PAGES:
		return by / PAGE + (by % PAGE != 0);
	case RULE_TEXT:
		return min_u64(by, INT32_MAX) + SIZE_LONG;
	case RULE_NONE:
	case RULE_STRING:
	case RULE_LENGTH:
	case RULE_VECTOR:
	case RULE_MESSAGE:
	case RULE_MESSAGES:
		break;
	}

	return 0;
}

static void add_array(struct planner *planner, const struct rule *rule)
{
	struct buffer_use use =
		plan_argument(planner, rule->arg,
			      rule_size(rule, planner->call), rule->direction);

	use.written = rule->written;
	use.least = rule->least;
	if (rule->how == RULE_TEXT)
		use.extra = SIZE_LONG;
	else if (rule->written == WRITTEN_RESULT)
		use.unit = (uint8_t)rule->size;
	if (rule->written == WRITTEN_RESULT)
		use.size = min_u64(use.size, PLAN_TRANSFER);

	plan_add(planner, &use);
}

/* A socklen_t that says how much fits, then how much there was. */
static void add_length(struct planner *planner, const struct rule *rule)
{
	uint64_t place = planner->call->args[rule->by];
	struct buffer_use use;
	uint32_t size;
	int counter = plan_add_argument(planner, rule->by, sizeof(size),
					BUFFER_IN | BUFFER_OUT);

	if (counter < 0 || !plan_read(planner, place, &size, sizeof(size)))
		return;

	use = plan_argument(planner, rule->arg, plan_int(size), BUFFER_OUT);
	if (rule->size)
		use.size = min_u64(use.size, rule->size);
	use.written = WRITTEN_LENGTH;
	use.counter = (int8_t)counter;
	/* Where there is no buffer the kernel may not look at the size. */
	if (plan_add(planner, &use) >= 0)
		planner->plan->buffer[counter].written = WRITTEN_WHOLE;
}

static void add_vector(struct planner *planner, const struct rule *rule)
{
	struct buffer_use array =
		plan_argument(planner, rule->arg, 0, BUFFER_IN);
	struct buffer_use like =
		plan_argument(planner, rule->arg, 0, rule->direction);

	like.written = rule->written;
	plan_vector(planner, &array, planner->call->args[rule->by], &like);
}

void rule_add(struct planner *planner, const struct rule *rule)
{
	switch ((enum rule_how)rule->how) {
	case RULE_NONE:
		return;
	case RULE_STRING:
		plan_string(planner,
			    plan_argument(planner, rule->arg, 0, BUFFER_IN),
			    PLAN_PATH);
		return;
	case RULE_LENGTH:
		add_length(planner, rule);
		return;
	case RULE_VECTOR:
		add_vector(planner, rule);
		return;
	case RULE_MESSAGE:
		plan_message(planner, rule->arg, rule->direction);
		return;
	case RULE_MESSAGES:
		plan_messages(planner, rule->arg,
			      (uint32_t)planner->call->args[rule->by],
			      rule->direction);
		return;
	case RULE_SIZE:
	case RULE_COUNT:
	case RULE_COUNT32:
	case RULE_BITS:
	case RULE_PAGES:
	case RULE_TEXT:
		add_array(planner, rule);
		return;
	}
}

bool rule_command(struct planner *planner, const struct rule_command *rows,
		  size_t count, uint64_t number)
{
	size_t i, k;

	for (i = 0; i < count; i++) {
		if (rows[i].number != (uint32_t)number)
			continue;
		for (k = 0; k < ARRAY_SIZE(rows[i].rules); k++)
			rule_add(planner, &rows[i].rules[k]);
		return true;
	}

	return false;
}
