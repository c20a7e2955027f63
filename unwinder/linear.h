/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * linear - many plain steps over one stack that was read at once
 *
 * What step.c does, for the steps that nearly all are (RULE_PLAIN), without
 * slots.
 */

#include "unwinder/step.h"

/*
 * Go on from a return address for as long as it can be done so; walk->rule and
 * walk->part are those of the step to it.
 */
void linear_steps(struct walk *walk);
