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
void record_closed(struct buffer *out, pid_t pid, uint64_t start, uint64_t end,
		   const char *reason, const struct timespec *time);
void record_access(struct buffer *out, const struct event_access *access);
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
