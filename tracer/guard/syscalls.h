/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * syscalls - what memory a system call touches
 *
 * One table, a row a call: its name, which arguments point to memory, in
 * which direction, and how long that memory is.  Pure: arguments in, buffers
 * out; the target's memory is read through a callback for nested pointers.
 */

#include "base/memory.h"

enum {
	BUFFER_IN = 1,	/* the kernel reads it */
	BUFFER_OUT = 2, /* the kernel may write it */
	CALL_BUFFERS = 64,
};

enum call_kind {
	CALL_NONE,     /* touches no memory of the program's */
	CALL_BUFFERED, /* all of its memory is in buffers: it can be moved */
	CALL_IN_PLACE, /* buffers known, but the addresses themselves matter
			  (futex, clone, rseq, set_tid_address, exec) */
	CALL_UNKNOWN,  /* it may touch memory that we cannot name */
};

enum {
	CALL_BLOCKS = 1 << 0,  /* may sleep for long, waiting for somebody */
	CALL_MAPS = 1 << 1,    /* may change the memory map */
	CALL_SIGNALS = 1 << 2, /* changes a mask, handler or alternate stack */
	CALL_FUTEX = 1 << 3,   /* looks at its word only while it enters */
	CALL_LATER = 1 << 4,   /* memory may be touched after it returned
				  (aio, io_uring): say so, do not follow */
};

/* How much of a buffer a call that succeeded really used. */
enum written {
	WRITTEN_COMPARE, /* nobody says: compare before and after */
	WRITTEN_RESULT,	 /* @extra bytes, and @unit for each of its result
			    (vectors: over all buffers of this kind, in
			    order) */
	WRITTEN_FITS,	 /* as WRITTEN_RESULT, if that fits; else nothing */
	WRITTEN_WHOLE,	 /* all of it */
	WRITTEN_LENGTH,	 /* as many times @unit as the uint32_t says that the
			    kernel left at @counter_place of buffer @counter
			    (vectors:  over all buffers with this counter, in
			    order) */
};

struct buffer_use {
	uint64_t addr;
	uint64_t size;	   /* bytes; a string: with its NUL */
	uint8_t direction; /* BUFFER_*; 0: the kernel looks the page up (a
			      futex to wake), but not at the bytes */
	int8_t parent;	   /* buffer whose bytes hold our pointer; -1: an
			      argument holds it */
	int8_t counter;
	uint8_t written; /* enum written */
	uint8_t unit, extra;
	uint8_t least;	/* a result below this: not used (wait4 without a
			   child, a message that did not come) */
	uint32_t place; /* argument number, or offset in the parent */
	uint32_t counter_place;
};

struct call {
	int number;
	uint64_t args[6];
};

struct call_plan {
	enum call_kind kind;
	unsigned flags; /* CALL_* bits */
	unsigned count;
	bool overflow;	 /* more than CALL_BUFFERS: treat as CALL_UNKNOWN */
	bool open_ended; /* more may lie behind its one buffer: it must not be
			    moved, and where memory is ours is CALL_UNKNOWN */
	struct buffer_use buffer[CALL_BUFFERS];
};

/* "read", or NULL for a number that we do not know. */
const char *syscall_name(int number);

/*
 * What @call touches.  Buffers of size 0 and null pointers are left out.  A
 * nested pointer that cannot be read is left out, too: the kernel will say
 * EFAULT, as it would without us.
 */
void call_describe(const struct call *call, const struct memory *memory,
		   struct call_plan *plan);

/* The CALL_* flags alone: no memory is read. */
unsigned call_flags(int number);

/*
 * Bytes of buffer @i that a call which returned @result really used at most:
 * for WRITTEN_RESULT its share, else its size; 0 if it failed.
 */
uint64_t call_written(const struct call_plan *plan, unsigned i, int64_t result);

/* Of @total bytes put into the buffers of @i's kind in order, those in @i. */
uint64_t call_share(const struct call_plan *plan, unsigned i, uint64_t total);
