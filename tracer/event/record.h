/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * record - one event, one line of JSON
 *
 * Each function appends one whole line with its newline.  The keys are
 * promised in docs/events.schema.json and clsevents(5).
 */

#include "base/buffer.h"
#include "tracer/event/event.h"

void record_header(struct buffer *out, const struct event_header *header);
void record_armed(struct buffer *out, const struct event_armed *armed,
		  const struct timespec *time);
void record_runtime(struct buffer *out, const struct event_runtime *runtime,
		    const struct timespec *time);
void record_closed(struct buffer *out, pid_t pid, uint64_t start, uint64_t end,
		   const char *reason, const struct timespec *time);

/*
 * Text of the access before: mostly the thread, the instruction and the
 * component are the same again.  Zero-initialize; one for each log.
 */
struct record_part {
	char *word, *more; /* strings that it was made of */
	struct buffer text;
};

struct record_memo {
	struct record_part thread, instruction, component;
	pid_t pid, tid;
	uint64_t ip;
	struct event_component like; /* without name and member */
	size_t offset; /* where the component's is put in its text */
};

void record_memo_done(struct record_memo *memo);
void record_access(struct buffer *out, const struct event_access *access,
		   struct record_memo *memo);

/*
 * The text of a call stack, for a record; @end: why it is not whole, or NULL.
 */
void record_frames(struct buffer *out, const struct event_frame *frames,
		   size_t count, const char *end);
void record_sample(struct buffer *out, const struct event_sample *sample);
void record_stack(struct buffer *out, const struct event_stack *stack);
void record_class(struct buffer *out, const struct event_class *class);
void record_exec(struct buffer *out, pid_t pid, const char *executable,
		 const struct timespec *time);
void record_fork(struct buffer *out, pid_t pid, pid_t child, const char *how,
		 const struct timespec *time); /* how: fork vfork */
void record_signal(struct buffer *out, pid_t pid, pid_t tid, int number,
		   uint64_t addr, uint64_t ip, const struct timespec *time);
/* From @old to @new, @size bytes each. */
void record_unexplained(struct buffer *out, pid_t pid, uint64_t addr,
			uint64_t size, const uint8_t *old, const uint8_t *new,
			const struct timespec *time);
void record_warning(struct buffer *out, const char *text,
		    const struct timespec *time);
void record_summary(struct buffer *out, const struct event_summary *summary);
