/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stack - what a session keeps of its threads' call stacks
 */

#include "base/table.h"
#include "unwinder/unwinder.h"

struct stacks {
	struct unwinder *unwinder;
	unsigned generation; /* of the symbols that its modules are from */
	bool known;
	struct table slots;	      /* tid -> struct slots */
	struct table ids;	      /* hash -> struct numbered_stack */
	uint64_t ns;		      /* that the walks took, without names */
	uint64_t mismatches;	      /* of --verify-stacks */
	struct unwinder_stats others; /* of sessions that are over */
};
