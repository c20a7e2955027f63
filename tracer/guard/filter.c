/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>

#include "tracer/guard/filter.h"

/*
 * The program:
 *
 *	numbers		a tree of comparisons, to the block of a call
 *	blocks		one for all calls that are asked for the same: put
 *			address and size of each pointer into the scratch
 *			memory, three words a pointer
 *	checks		of the fifth pointer, of the fourth ... of the first:
 *			is its memory in a range?
 *	answers
 *
 * Words have 32 bits, so a range must not cross a multiple of 4 GiB, and
 * memory that does stops its call.  Jumps go forward only.
 */

enum {
	NUMBERS = 512, /* more than there are calls */
	RUNS = NUMBERS + 2,
	BLOCKS = 128,
	LABELS = BLOCKS + 2 * RUNS,
	LARGEST = 0x7fffffff, /* of what a call is asked for; more stops */

	LABEL_TRACE = 0,
	LABEL_ALLOW = 1,
	LABEL_CHECK = 2, /* + number of pointers */
	LABEL_BLOCK = LABEL_CHECK + FILTER_POINTERS + 1,
	LABEL_FREE = LABEL_BLOCK + BLOCKS, /* handed out for branches */
};

/* Numbers from @first on to the next run's have this label. */
struct run {
	uint32_t first;
	unsigned label;
};

struct builder {
	struct filter *filter;
	bool full;
	uint16_t wants[FILTER_MAX]; /* label + 1 that a jump goes to, 0 none */
	unsigned at[LABEL_FREE + LABELS]; /* instruction of a label */
	unsigned labels;

	struct filter_demand block[BLOCKS];
	unsigned blocks;
	struct run run[RUNS];
	unsigned runs;
	struct range range[2 * FILTER_INPUT];
	unsigned ranges;
};

static void emit_jump(struct builder *b, uint16_t code, uint32_t k, uint8_t yes,
		      uint8_t no)
{
	struct filter *filter = b->filter;

	if (filter->count == FILTER_MAX) {
		b->full = true;
		return;
	}
	filter->code[filter->count++] =
		(struct sock_filter){ code, yes, no, k };
}

static void emit(struct builder *b, uint16_t code, uint32_t k)
{
	emit_jump(b, code, k, 0, 0);
}

static void go(struct builder *b, unsigned label)
{
	if (b->filter->count < FILTER_MAX)
		b->wants[b->filter->count] = (uint16_t)(label + 1);
	emit(b, BPF_JMP | BPF_JA, 0);
}

/* Go on only if the comparison holds, else to @label; and the reverse. */
static void unless(struct builder *b, uint16_t code, uint32_t k, unsigned label)
{
	emit_jump(b, BPF_JMP | code, k, 1, 0);
	go(b, label);
}

static void when(struct builder *b, uint16_t code, uint32_t k, unsigned label)
{
	emit_jump(b, BPF_JMP | code, k, 0, 1);
	go(b, label);
}

static void place(struct builder *b, unsigned label)
{
	b->at[label] = b->filter->count;
}

static void load(struct builder *b, size_t offset)
{
	emit(b, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static void load_low(struct builder *b, unsigned arg)
{
	load(b, offsetof(struct seccomp_data, args) + 8 * arg);
}

static void load_high(struct builder *b, unsigned arg)
{
	load(b, offsetof(struct seccomp_data, args) + 8 * arg + 4);
}

/* Ranges, each within 4 GiB. */
static void split(struct builder *b, const struct ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++) {
		uint64_t at = ranges->range[i].start;

		while (at < ranges->range[i].end &&
		       b->ranges < ARRAY_SIZE(b->range)) {
			uint64_t next = ((at >> 32) + 1) << 32;
			uint64_t end = min_u64(next, ranges->range[i].end);

			b->range[b->ranges++] = (struct range){ at, end, 0 };
			at = end;
		}
		b->full |= at < ranges->range[i].end;
	}
}

/* Join those of the smallest distance, until there are few enough. */
static void join(struct builder *b)
{
	while (b->ranges > FILTER_RANGES && !b->full) {
		uint64_t least = UINT64_MAX;
		unsigned best = 0;

		for (unsigned i = 0; i + 1 < b->ranges; i++) {
			const struct range *r = &b->range[i];

			if (r[0].start >> 32 == r[1].start >> 32 &&
			    r[1].start - r[0].end < least) {
				least = r[1].start - r[0].end;
				best = i;
			}
		}
		b->full = least == UINT64_MAX;
		if (b->full)
			return;
		b->range[best].end = b->range[best + 1].end;
		b->ranges--;
		memmove(&b->range[best + 1], &b->range[best + 2],
			(b->ranges - best - 1) * sizeof(*b->range));
	}
}

static unsigned block_of(struct builder *b, const struct filter_demand *demand)
{
	unsigned i;

	if (demand->always)
		return LABEL_TRACE;
	if (!demand->count && !demand->flags)
		return LABEL_ALLOW;
	for (i = 0; i < b->blocks; i++)
		if (!memcmp(&b->block[i], demand, sizeof(*demand)))
			return LABEL_BLOCK + i;
	b->full |= i == BLOCKS;
	if (b->full)
		return LABEL_TRACE;
	b->block[b->blocks++] = *demand;
	return LABEL_BLOCK + i;
}

static void add_run(struct builder *b, uint32_t first, unsigned label)
{
	if (!b->runs || b->run[b->runs - 1].label != label)
		b->run[b->runs++] = (struct run){ first, label };
}

static void collect(struct builder *b, const struct filter_rules *rules)
{
	struct filter_demand demand;

	for (uint32_t number = 0; number < NUMBERS; number++) {
		filter_demand((int)number, rules, &demand);
		add_run(b, number, block_of(b, &demand));
	}
	add_run(b, NUMBERS, LABEL_TRACE);
	/* A call that a tracer has answered itself: there is none. */
	add_run(b, UINT32_MAX, LABEL_ALLOW);
}

/* The number is in A; jumps reach 255 instructions, so each has a long one. */
static void branch(struct builder *b, unsigned low, unsigned high)
{
	unsigned middle = low + (high - low) / 2, right = b->labels;

	if (high - low == 1) {
		go(b, b->run[low].label);
		return;
	}
	b->labels++;
	when(b, BPF_JGE | BPF_K, b->run[middle].first, right);
	branch(b, low, middle);
	place(b, right);
	branch(b, middle, high);
}

/* Its size into A, or it stops. */
static void size_of(struct builder *b, const struct filter_pointer *p)
{
	uint32_t limit = LARGEST - p->extra;

	if (!p->unit) {
		emit(b, BPF_LD | BPF_IMM, p->extra);
		return;
	}
	if (p->wide) {
		load_high(b, p->by);
		unless(b, BPF_JEQ | BPF_K, 0, LABEL_TRACE);
	}
	load_low(b, p->by);
	when(b, BPF_JGT | BPF_K, limit / p->unit, LABEL_TRACE);
	if (p->shift)
		emit(b, BPF_ALU | BPF_RSH | BPF_K, p->shift);
	if (p->unit > 1)
		emit(b, BPF_ALU | BPF_MUL | BPF_K, p->unit);
	if (p->extra)
		emit(b, BPF_ALU | BPF_ADD | BPF_K, p->extra);
}

static void ask(struct builder *b, const struct filter_demand *demand)
{
	if (demand->flags) {
		load_low(b, demand->flag_arg);
		when(b, BPF_JSET | BPF_K, demand->flags, LABEL_TRACE);
	}
	for (unsigned i = 0; i < demand->count; i++) {
		const struct filter_pointer *p = &demand->pointer[i];

		size_of(b, p);
		emit(b, BPF_ST, 3 * i + 2);
		load_low(b, p->arg);
		emit(b, BPF_ST, 3 * i);
		load_high(b, p->arg);
		emit(b, BPF_ST, 3 * i + 1);
	}
	go(b, demand->count ? LABEL_CHECK + demand->count : LABEL_ALLOW);
}

/* Word @low is the address's lower half, its upper one is right; X: size. */
static void compare(struct builder *b, unsigned low, const struct range *range)
{
	uint32_t start = (uint32_t)range->start;

	emit(b, BPF_LD | BPF_MEM, low);
	emit_jump(b, BPF_JMP | BPF_JGT | BPF_K, (uint32_t)(range->end - 1), 5,
		  0);
	emit_jump(b, BPF_JMP | BPF_JGE | BPF_K, start, 3, 0);
	/* It begins below: does it end there, too? */
	emit(b, BPF_ALU | BPF_NEG, 0);
	emit(b, BPF_ALU | BPF_ADD | BPF_K, start);
	emit_jump(b, BPF_JMP | BPF_JGE | BPF_X, 0, 1, 0);
	go(b, LABEL_TRACE);
}

static void check(struct builder *b, unsigned pointer)
{
	unsigned low = 3 * pointer, i = 0;

	/* Does it end before the next multiple of 4 GiB? */
	emit(b, BPF_LD | BPF_MEM, low + 2);
	emit(b, BPF_MISC | BPF_TAX, 0);
	emit(b, BPF_LD | BPF_MEM, low);
	emit(b, BPF_ALU | BPF_NEG, 0);
	emit(b, BPF_ALU | BPF_SUB | BPF_K, 1);
	unless(b, BPF_JGE | BPF_X, 0, LABEL_TRACE);
	while (i < b->ranges) {
		uint32_t high = (uint32_t)(b->range[i].start >> 32);
		unsigned next = b->labels++;

		emit(b, BPF_LD | BPF_MEM, low + 1);
		unless(b, BPF_JEQ | BPF_K, high, next);
		for (; i < b->ranges && b->range[i].start >> 32 == high; i++)
			compare(b, low, &b->range[i]);
		place(b, next);
	}
}

static void answer(struct builder *b)
{
	place(b, LABEL_ALLOW);
	emit(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	/* A call through the vsyscall page is made by the kernel itself in a
	 * page fault: a tracer must not touch it. */
	place(b, LABEL_TRACE);
	load(b, offsetof(struct seccomp_data, instruction_pointer) + 4);
	emit_jump(b, BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 0, 1);
	emit(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	emit(b, BPF_RET | BPF_K, SECCOMP_RET_TRACE | FILTER_DATA);
}

static void resolve_jumps(struct builder *b)
{
	for (unsigned i = 0; i < b->filter->count; i++)
		if (b->wants[i])
			b->filter->code[i].k = b->at[b->wants[i] - 1] - i - 1;
}

int filter_build(const struct ranges *ranges, const struct filter_rules *rules,
		 struct filter *ret)
{
	_cleanup_(freep) struct builder *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	if (ranges->count > FILTER_INPUT)
		return -E2BIG;
	b->filter = ret;
	b->labels = LABEL_FREE;
	ret->count = 0;
	split(b, ranges);
	join(b);
	collect(b, rules);

	load(b, offsetof(struct seccomp_data, arch));
	unless(b, BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, LABEL_TRACE);
	load(b, offsetof(struct seccomp_data, nr));
	branch(b, 0, b->runs);
	for (unsigned i = 0; i < b->blocks; i++) {
		place(b, LABEL_BLOCK + i);
		ask(b, &b->block[i]);
	}
	for (unsigned i = FILTER_POINTERS; i > 0; i--) {
		place(b, LABEL_CHECK + i);
		check(b, i - 1);
	}
	answer(b);
	if (b->full)
		return -E2BIG;
	resolve_jumps(b);
	return 0;
}
