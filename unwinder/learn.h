/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * learn - the rule of an address, by what libunwind answers for it
 */

#include "unwinder/rules.h"

/* For rule->ip; 0 or -errno of the cold's image. */
int rule_learn(struct cold *cold, struct rule *rule) _must_check_;

/* Of a linear one, what each step would have to find out each time. */
void rule_complete(struct rule *rule);
