/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * writer - a thread that writes while the tracer goes on
 *
 * To put bytes into a file costs a fifth of what it costs to make them, and
 * a processor is idle while a thread of the program is stopped.  One piece is
 * under way at a time; the thread is the only one of ours besides the tracer,
 * traces nothing and takes no signal.
 */

#include "base/buffer.h"

struct writer;

/* NULL: there can be none, write yourself. */
struct writer *writer_start(int fd);

/*
 * Write what is in @buffer, which is then empty; waits for the piece before.
 * Returns 0, or -errno of an earlier piece: nothing is written after one that
 * failed.
 */
int writer_put(struct writer *writer, struct buffer *buffer);

/* Wait until all is written; likewise. */
int writer_wait(struct writer *writer);

void writer_stop(struct writer *writer); /* after writer_wait(); not the fd */

/* All of it, whatever interrupts.  0 or -errno. */
int write_all(int fd, const char *data, size_t size);
