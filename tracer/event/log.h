/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * log - where the lines go
 *
 * A file gets them in large pieces, a pipe or terminal a line at a time.  A
 * reader that went away is an answer, not a failure: the caller then stops
 * tracing.
 */

#include "base/buffer.h"
#include "base/error.h"

struct log {
	int fd;
	bool owned;  /* we opened it */
	bool direct; /* a pipe or terminal: every line at once */
	bool gone;   /* the reader went away (EPIPE), or the disk is full */
	int number;  /* -errno of that, 0 for EPIPE */
	struct buffer buffer;
};

/* @path NULL: standard output.  The file is created 0600. */
int log_open(struct log *log, const char *path, struct error *err) _must_check_;

/* A record was appended to log->buffer: write it if it is time. */
void log_line(struct log *log);

/* Write all there is. */
void log_flush(struct log *log);

void log_done(struct log *log); /* flushes and closes */
