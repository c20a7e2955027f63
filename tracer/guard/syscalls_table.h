/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * syscalls_table - the rows of the table of system calls
 *
 * A row is a name, flags and at most six rules; a rule says what one argument
 * points to.  The few calls whose arguments depend on a command have a
 * function besides (special.h).
 */

#include <asm/unistd_64.h>

#include "tracer/guard/plan.h"

enum rule_how {
	RULE_NONE,
	RULE_SIZE,     /* size bytes */
	RULE_COUNT,    /* size bytes for each of the unsigned long @by */
	RULE_COUNT32,  /* the same for an int */
	RULE_BITS,     /* unsigned long words for @by bits */
	RULE_PAGES,    /* a byte for each page of @by bytes */
	RULE_TEXT,     /* a long and @by bytes: struct msgbuf */
	RULE_STRING,   /* to its NUL */
	RULE_LENGTH,   /* argument @by points to its size, which comes back */
	RULE_VECTOR,   /* @by struct iovec */
	RULE_MESSAGE,  /* struct msghdr */
	RULE_MESSAGES, /* @by struct mmsghdr */
};

struct rule {
	uint8_t how; /* enum rule_how */
	uint8_t arg, by;
	uint8_t direction;
	uint8_t written, least;
	uint16_t size;
};

struct syscall_row {
	const char *name;
	uint16_t flags;
	uint8_t kind; /* enum call_kind; CALL_NONE: as its buffers say */
	void (*more)(struct planner *planner);
	struct rule rules[6];
};

/* One command of a call such as fcntl. */
struct rule_command {
	uint32_t number;
	struct rule rules[2];
};

struct syscall_range {
	int first;
	unsigned count;
	const struct syscall_row *rows;
};

/* The row of a call, or NULL. */
const struct syscall_row *syscall_row(int number);

extern const struct syscall_range syscalls_low, syscalls_high, syscalls_new;

void rule_add(struct planner *planner, const struct rule *rule);

/* Add what the row with @number says; false: there is none. */
bool rule_command(struct planner *planner, const struct rule_command *rows,
		  size_t count, uint64_t number);

#define RULE(how_, arg_, by_, direction_, written_, size_)                     \
	{                                                                      \
		.how = (how_), .arg = (arg_), .by = (by_),                     \
		.direction = (direction_), .written = (written_),              \
		.size = (size_),                                               \
	}

/* A structure that is read, filled, updated, or perhaps filled. */
#define IN(arg, size)  RULE(RULE_SIZE, arg, 0, BUFFER_IN, WRITTEN_WHOLE, size)
#define OUT(arg, size) RULE(RULE_SIZE, arg, 0, BUFFER_OUT, WRITTEN_WHOLE, size)
#define BOTH(arg, size)                                                        \
	RULE(RULE_SIZE, arg, 0, BUFFER_IN | BUFFER_OUT, WRITTEN_COMPARE, size)
#define MAYBE(arg, size)                                                       \
	RULE(RULE_SIZE, arg, 0, BUFFER_OUT, WRITTEN_COMPARE, size)

/* Filled if the result is not 0. */
#define FOUND(arg_, size_)                                                     \
	{                                                                      \
		.how = RULE_SIZE, .arg = (arg_), .direction = BUFFER_OUT,      \
		.written = WRITTEN_WHOLE, .least = 1, .size = (size_),         \
	}

/* Arrays; N with a size_t count, the others with an int. */
#define IN_N(arg, by, size)                                                    \
	RULE(RULE_COUNT, arg, by, BUFFER_IN, WRITTEN_WHOLE, size)
#define IN_INT(arg, by, size)                                                  \
	RULE(RULE_COUNT32, arg, by, BUFFER_IN, WRITTEN_WHOLE, size)
#define OUT_N(arg, by, size)                                                   \
	RULE(RULE_COUNT, arg, by, BUFFER_OUT, WRITTEN_COMPARE, size)
#define ALL_N(arg, by, size)                                                   \
	RULE(RULE_COUNT, arg, by, BUFFER_OUT, WRITTEN_WHOLE, size)
#define OUT_INT(arg, by, size)                                                 \
	RULE(RULE_COUNT32, arg, by, BUFFER_OUT, WRITTEN_COMPARE, size)
#define BOTH_INT(arg, by, size)                                                \
	RULE(RULE_COUNT32, arg, by, BUFFER_IN | BUFFER_OUT, WRITTEN_COMPARE,   \
	     size)

/* Arrays of which the result tells how many elements were used. */
#define FILL(arg, by, size)                                                    \
	RULE(RULE_COUNT, arg, by, BUFFER_OUT, WRITTEN_RESULT, size)
#define FILL_INT(arg, by, size)                                                \
	RULE(RULE_COUNT32, arg, by, BUFFER_OUT, WRITTEN_RESULT, size)
/* Of bytes, and where it says how many are needed, none were. */
#define FITS(arg, by) RULE(RULE_COUNT, arg, by, BUFFER_OUT, WRITTEN_FITS, 1)
#define SEND(arg, by) RULE(RULE_COUNT, arg, by, BUFFER_IN, WRITTEN_RESULT, 1)

#define BITS_IN(arg, by) RULE(RULE_BITS, arg, by, BUFFER_IN, WRITTEN_WHOLE, 0)
#define BITS_OUT(arg, by)                                                      \
	RULE(RULE_BITS, arg, by, BUFFER_OUT, WRITTEN_COMPARE, 0)
#define BITS(arg, by)                                                          \
	RULE(RULE_BITS, arg, by, BUFFER_IN | BUFFER_OUT, WRITTEN_COMPARE, 0)
#define PAGES(arg, by) RULE(RULE_PAGES, arg, by, BUFFER_OUT, WRITTEN_WHOLE, 0)
#define TEXT(arg, by, direction, written)                                      \
	RULE(RULE_TEXT, arg, by, direction, written, 0)
#define STR(arg) RULE(RULE_STRING, arg, 0, BUFFER_IN, WRITTEN_WHOLE, 0)
/* A buffer with a socklen_t; NAME: the kernel's own copy has this limit. */
#define LENGTH(arg, by)                                                        \
	RULE(RULE_LENGTH, arg, by, BUFFER_OUT, WRITTEN_LENGTH, 0)
#define NAME(arg, by)                                                          \
	RULE(RULE_LENGTH, arg, by, BUFFER_OUT, WRITTEN_LENGTH, PLAN_NAME)
#define VECTOR(arg, by, direction)                                             \
	RULE(RULE_VECTOR, arg, by, direction, WRITTEN_RESULT, 0)
#define MESSAGE(arg, direction)                                                \
	RULE(RULE_MESSAGE, arg, 0, direction, WRITTEN_RESULT, 0)
#define MESSAGES(arg, by, direction)                                           \
	RULE(RULE_MESSAGES, arg, by, direction, WRITTEN_LENGTH, 0)

#define ROW(call, flags_, kind_, more_, ...)                                   \
	[__NR_##call - FIRST] = {                                              \
		.name = #call,                                                 \
		.flags = (flags_),                                             \
		.kind = (kind_),                                               \
		.more = (more_),                                               \
		.rules = { __VA_ARGS__ },                                      \
	}

/* Its buffers can be moved; MORE: a function adds some. */
#define CALL(call, flags, ...) ROW(call, flags, CALL_NONE, NULL, __VA_ARGS__)
#define MORE(call, flags, more, ...)                                           \
	ROW(call, flags, CALL_NONE, more, __VA_ARGS__)
#define PLACE(call, flags, more, ...)                                          \
	ROW(call, flags, CALL_IN_PLACE, more, __VA_ARGS__)
#define UNKNOWN(call, flags, ...)                                              \
	ROW(call, flags, CALL_UNKNOWN, NULL, __VA_ARGS__)

/* Sizes that the kernel's interface fixes for x86-64. */
enum {
	SIZE_INT = 4,
	SIZE_LONG = 8,
	SIZE_SIGSET = 8, /* the kernel's, not the C library's 128 */
	SIZE_SIGACTION = 32,
	SIZE_SIGINFO = 128,
	SIZE_SIGEVENT = 64,
	SIZE_STACK = 24,
	SIZE_TIME = 16,	 /* struct timespec and timeval */
	SIZE_TIMES = 32, /* two of them: interval and value, or a and m */
	SIZE_TIMEZONE = 8,
	SIZE_TIMEX = 208,
	SIZE_TMS = 32,
	SIZE_STAT = 144,
	SIZE_STATX = 256,
	SIZE_STATFS = 120,
	SIZE_USTAT = 32,
	SIZE_RLIMIT = 16,
	SIZE_RUSAGE = 144,
	SIZE_SYSINFO = 112,
	SIZE_UTSNAME = 390,
	SIZE_POLLFD = 8,
	SIZE_EPOLL_EVENT = 12, /* packed on x86-64 */
	SIZE_IOVEC = 16,
	SIZE_SEMBUF = 6,
	SIZE_MQ_ATTR = 64,
	SIZE_IOCB = 64,
	SIZE_IO_EVENT = 32,
	SIZE_URING_PARAMS = 120,
	SIZE_ROBUST_LIST = 24,
	SIZE_FUTEX_WAITER = 24,
};

/* Newer than the headers of the oldest system that we build on. */
#ifndef __NR_uretprobe
#define __NR_uretprobe 335
#endif
#ifndef __NR_cachestat
#define __NR_cachestat	      451
#define __NR_fchmodat2	      452
#define __NR_map_shadow_stack 453
#define __NR_futex_wake	      454
#define __NR_futex_wait	      455
#define __NR_futex_requeue    456
#endif
#ifndef __NR_statmount
#define __NR_statmount	       457
#define __NR_listmount	       458
#define __NR_lsm_get_self_attr 459
#define __NR_lsm_set_self_attr 460
#define __NR_lsm_list_modules  461
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat	   463
#define __NR_getxattrat	   464
#define __NR_listxattrat   465
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468
#define __NR_file_setattr 469
#endif
