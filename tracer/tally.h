/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tally - what is counted for the summary: classes, and what went unseen
 */

#include "tracer/session.h"

void tally_access(struct session *session, const struct component *component,
		  uint8_t op);

/* The @max most frequent, most frequent first; *@rest: accesses of others. */
size_t tally_classes(const struct session *session,
		     struct event_class_count *ret, size_t max, uint64_t *rest);

/* Two processes of one log: @to will tell for both. */
void tally_merge(struct session *to, const struct session *from);

/* Reasons; the caller frees *@ret. */
size_t tally_unseen(const struct session *session, struct event_count **ret);
