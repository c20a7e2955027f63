/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/guard/filter.h"
#include "tracer/guard/syscalls_table.h"

/* The sizes that a filter can work out: all but what lies in memory. */
static bool add_rule(struct filter_demand *demand, const struct rule *rule)
{
	struct filter_pointer *p = &demand->pointer[demand->count];

	if (demand->count == FILTER_POINTERS)
		return false;
	*p = (struct filter_pointer){ .arg = rule->arg, .by = rule->by };
	switch ((enum rule_how)rule->how) {
	case RULE_SIZE:
		p->by = 0;
		p->extra = rule->size;
		break;
	case RULE_COUNT:
		p->wide = true;
		p->unit = rule->size;
		break;
	case RULE_COUNT32:
		p->unit = rule->size;
		break;
	case RULE_BITS:
		p->shift = 3;
		p->unit = 1;
		p->extra = SIZE_LONG;
		break;
	case RULE_PAGES:
		p->wide = true;
		p->shift = 12;
		p->unit = p->extra = 1;
		break;
	case RULE_TEXT:
		p->wide = true;
		p->unit = 1;
		p->extra = SIZE_LONG;
		break;
	case RULE_STRING:
		p->by = 0;
		p->extra = PLAN_PATH;
		break;
	case RULE_LENGTH:
		/* The size lies in memory, but some have a limit. */
		if (!rule->size || demand->count + 1 == FILTER_POINTERS)
			return false;
		p->by = 0;
		p->extra = rule->size;
		demand->count++;
		p[1] = (struct filter_pointer){ .arg = rule->by,
						.extra = sizeof(uint32_t) };
		break;
	case RULE_NONE:
		return true;
	case RULE_VECTOR:
	case RULE_MESSAGE:
	case RULE_MESSAGES:
	default:
		return false;
	}
	demand->count++;
	return true;
}

/* The few with code of their own that are frequent. */
static bool add_special(struct filter_demand *demand, int number)
{
	static const struct rule futex[] = {
		IN(0, SIZE_INT),
		IN(3, SIZE_TIME),
		IN(4, SIZE_INT),
	};
	static const struct rule flock = BOTH(2, 32);
	static const struct rule event = IN(3, SIZE_EPOLL_EVENT);
	enum { ZERO_COPY = 0x4000000 /* MSG_ZEROCOPY: read later */ };

	switch (number) {
	case __NR_futex:
		return add_rule(demand, &futex[0]) &&
		       add_rule(demand, &futex[1]) &&
		       add_rule(demand, &futex[2]);
	case __NR_fcntl:
		return add_rule(demand, &flock);
	case __NR_epoll_ctl:
		return add_rule(demand, &event);
	case __NR_recvfrom:
		return true;
	case __NR_sendto:
		demand->flag_arg = 3;
		demand->flags = ZERO_COPY;
		return true;
	default:
		return false;
	}
}

/* What ends or bears threads is seen, whatever memory it touches. */
static bool moves_threads(int number)
{
	return number == __NR_exit || number == __NR_exit_group ||
	       number == __NR_fork || number == __NR_vfork;
}

static bool stops_always(const struct syscall_row *row, int number,
			 const struct filter_rules *rules)
{
	const unsigned seen = CALL_MAPS | CALL_SIGNALS | CALL_LATER;

	return !row || !row->name || row->kind == CALL_UNKNOWN ||
	       row->flags & seen ||
	       (rules->blocking && row->flags & CALL_BLOCKS) ||
	       (row->kind == CALL_IN_PLACE && number != __NR_futex) ||
	       moves_threads(number) ||
	       (rules->always && rules->always(number));
}

void filter_demand(int number, const struct filter_rules *rules,
		   struct filter_demand *ret)
{
	const struct syscall_row *row = syscall_row(number);

	memset(ret, 0, sizeof(*ret)); /* they are compared as bytes */
	if (stops_always(row, number, rules)) {
		ret->always = true;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(row->rules); i++)
		ret->always |= !add_rule(ret, &row->rules[i]);
	if (row->more)
		ret->always |= !add_special(ret, number);
	if (!ret->always)
		return;
	memset(ret, 0, sizeof(*ret));
	ret->always = true;
}
