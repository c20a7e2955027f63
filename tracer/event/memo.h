/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * memo - parts of a line that mostly are as in the line before
 *
 * For record_access.c.  Each appends its part, made anew or remembered.
 */

#include "tracer/event/json.h"
#include "tracer/event/record.h"

void memo_thread(struct record_memo *memo, struct json *json,
		 const struct event_access *access);
void memo_instruction(struct record_memo *memo, struct json *json,
		      const struct event_access *access);
void memo_component(struct record_memo *memo, struct json *json,
		    const struct event_component *component);
