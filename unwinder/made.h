/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * made - code that was made at run time, as a rule and as a step
 */

#include "unwinder/rules.h"

/* As the rule for rule->ip; what @caller has not said is left as it is. */
void made_rule(const struct caller *caller, struct rule *rule);

/* From the frame of *@state to its caller's: 0 or -errno of @image. */
int made_step(const struct caller *caller, struct image *image,
	      struct state *state) _must_check_;
