/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * typed - members of what has a type, kept as they were told
 *
 * Between the types of tracer/process and the runtimes that have found one
 * for a piece of memory.
 */

#include "tracer/component/runtime.h"
#include "tracer/process/member.h"

/* The member of @type at @start that holds @addr, into ret->member. */
void typed_member(struct pages *pages, struct type *type, uint64_t start,
		  uint64_t addr, struct component *ret);

/* As member_find(), of what lies at @start. */
size_t typed_find(struct pages *pages, struct type *type, uint64_t start,
		  const char *path, struct extent *ret, size_t max);
