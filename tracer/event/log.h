/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * log - where the lines go
 *
 * A file gets them in large pieces, a pipe or terminal after each stop.  A
 * reader that went away is an answer, not a failure: the caller then stops
 * tracing.
 */

#include "base/buffer.h"
#include "base/error.h"
#include "tracer/event/record.h"

struct log {
	int fd;
	bool owned;  /* we opened it */
	bool direct; /* a pipe or terminal: nothing is kept */
	bool gone;   /* the reader went away (EPIPE), or the disk is full */
	int number;  /* -errno of that, 0 for EPIPE */
	struct buffer buffer;
	struct record_memo memo;

	bool began;	 /* its header is written */
	uint64_t seq;	 /* access records in it */
	uint64_t stacks; /* stack records */
	uint64_t insns;	 /* performed, of all processes that are in it */
};

/*
 * @name as in struct options, NULL: standard output; @id is what %p in it
 * stands for.  The file is created 0600.
 */
int log_open(struct log *log, const char *name, const char *id,
	     struct error *err) _must_check_;
bool log_is_numbered(const char *name); /* there is a %p in it */

/* A record was appended to log->buffer: write if there is much. */
void log_line(struct log *log);

/* A stop was served: who reads a pipe need not wait for the next. */
void log_settle(struct log *log);

/* Write all there is. */
void log_flush(struct log *log);

void log_done(struct log *log); /* flushes and closes */
