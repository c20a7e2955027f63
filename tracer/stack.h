/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stack - what a session keeps of its threads' call stacks
 */

#include "base/table.h"
#include "tracer/component/managed.h"
#include "tracer/process/jitmap.h"
#include "unwinder/unwinder.h"

/* Of the stack of a thread that stands still, but for what we store for it. */
struct stack_copy {
	bool still;
	uint64_t sp; /* of the walk that is on */
	uint64_t start;
	size_t size, allocated;
	char *bytes;
	bool missed; /* the walk that is on read elsewhere, too */
};

/* The last stack, while nothing was stored to the copy that it is from. */
struct stack_last {
	struct stack_text *text;	   /* or NULL */
	const struct stack_text *expected; /* by --verify-stacks; or NULL */
	const struct slots *slots;
	size_t frames;
};

struct stacks {
	struct unwinder *unwinder;
	unsigned generation; /* of the symbols that its modules are from */
	bool known;
	struct table slots; /* tid -> struct slots */
	struct table texts; /* hash -> struct stack_text */
	size_t text_bytes;
	struct stack_copy copy;
	struct stack_last last;
	struct managed *managed; /* of the last one; NULL: nobody asked */
	struct jitmap jitmap;
	struct code code;    /* that a runtime made, as the unwinder has it */
	uint64_t unread;     /* reads that were spared by the copy */
	uint64_t ns;	     /* that the walks took, without names */
	uint64_t mismatches; /* of --verify-stacks */
	bool differs;	     /* the last one, if it is told */
	struct unwinder_stats others; /* of sessions that are over, and of
					 stacks that were told again */
};

void stack_texts_forget(struct stacks *stacks);

struct session;

/*
 * stack_copy.c: a struct memory's read, of the session that is @context; while
 * the stack only changes by what we are told, it is read once.
 */
int stack_copy_read(void *context, uint64_t addr, void *buffer, size_t size);

/*
 * The innermost @max frames of a thread with these registers, for us and not
 * to be told: no stack that is counted.  How many are known.
 */
size_t stack_first_frames(struct session *session,
			  const struct user_regs_struct *regs,
			  struct frame *frames, size_t max);
