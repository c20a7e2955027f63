/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * filter - a seccomp(2) program that tells calls which may touch some memory
 *
 * Compares the pointers among a call's arguments, and the sizes beside them,
 * with ranges of addresses.  It stops (SECCOMP_RET_TRACE) whatever may touch
 * one, or may matter to a tracer for another reason: calls whose pointers lie
 * in memory, that change the map, signals or threads, and unknown ones.  All
 * others run as if it were not there.  Pure: ranges in, instructions out.
 *
 * Of every call the kernel asks all filters and takes the strictest answer, so
 * a second one can add ranges, and none can take some away.
 */

#include <linux/filter.h>

#include "tracer/guard/ranges.h"

enum {
	FILTER_MAX = 4096,  /* BPF_MAXINSNS */
	FILTER_RANGES = 32, /* compared with; of more some are joined */
	FILTER_INPUT = 256, /* ranges that filter_build() takes at most */
	FILTER_POINTERS = 5,
	FILTER_DATA = 0xc15e, /* of our SECCOMP_RET_TRACE */
};

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned count;
};

/* A pointer among the arguments; its memory has @unit * (argument @by >>
 * @shift) + @extra bytes at most. */
struct filter_pointer {
	uint8_t arg, by, shift;
	bool wide; /* the kernel looks at all 64 bits of @by */
	uint16_t unit, extra;
};

/* What a call must be asked for. */
struct filter_demand {
	uint32_t flags; /* it stops if argument @flag_arg has one of these */
	uint8_t flag_arg;
	bool always; /* it stops whatever its arguments */
	uint16_t count;
	struct filter_pointer pointer[FILTER_POINTERS];
};

struct filter_rules {
	bool blocking;		    /* all calls that may sleep stop, too */
	bool (*always)(int number); /* and these */
};

/* What to ask of call @number, any number. */
void filter_demand(int number, const struct filter_rules *rules,
		   struct filter_demand *ret);

/*
 * 0; -E2BIG: more than FILTER_INPUT ranges, or no room for the program.
 * Ranges that are joined for want of room have what lies between them stop.
 */
int filter_build(const struct ranges *ranges, const struct filter_rules *rules,
		 struct filter *ret) _must_check_;
