/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * plan - the buffers of one system call, while they are collected
 *
 * What the rows of the table and the calls that need code of their own add
 * to a struct call_plan.  Does not know which call it is for.
 */

#include "tracer/guard/syscalls.h"

struct planner {
	const struct call *call;
	const struct memory *memory;
	struct call_plan *plan;
};

enum {
	/* The kernel moves at most this many bytes in one call. */
	PLAN_TRANSFER = 0x7ffff000,
	PLAN_VECTORS = 1024, /* UIO_MAXIOV */
	PLAN_NAME = 128,     /* struct sockaddr_storage */
	PLAN_PATH = 4096,    /* PATH_MAX, its NUL included */
	PLAN_EXEC = 131072,  /* MAX_ARG_STRLEN */
};

/* A buffer that argument @arg points to: compared, unless changed later. */
struct buffer_use plan_argument(const struct planner *planner, unsigned arg,
				uint64_t size, uint8_t direction);

/* A buffer at @addr, which the bytes of @parent hold at @offset. */
struct buffer_use plan_nested(int parent, uint64_t offset, uint64_t addr,
			      uint64_t size, uint8_t direction);

/* Its index, or -1: null, empty, no user address, or no place left. */
int plan_add(struct planner *planner, const struct buffer_use *use);

/* plan_argument() and plan_add(). */
int plan_add_argument(struct planner *planner, unsigned arg, uint64_t size,
		      uint8_t direction);

/* The NUL-terminated text that @use points to, at most @limit bytes. */
int plan_string(struct planner *planner, struct buffer_use use, uint64_t limit);

/* A null-terminated array of pointers to strings. */
void plan_strings(struct planner *planner, unsigned arg);

/* A struct iovec array at @array and what it points to, as @like says. */
void plan_vector(struct planner *planner, const struct buffer_use *array,
		 uint64_t count, const struct buffer_use *like);

/* struct msghdr, and struct mmsghdr []; @direction is that of the data. */
void plan_message(struct planner *planner, unsigned arg, uint8_t direction);
void plan_messages(struct planner *planner, unsigned arg, uint64_t count,
		   uint8_t direction);

/* struct sock_fprog: a length and a pointer to a filter. */
void plan_filter(struct planner *planner, const struct buffer_use *program);

/*
 * A value that may be a pointer to memory of a kind that we do not know, and
 * bytes that may hold such values: CALL_UNKNOWN if one of them is mapped.
 */
void plan_suspect(struct planner *planner, uint64_t value);
void plan_suspect_words(struct planner *planner, uint64_t addr, uint64_t size);

/* Read a word of the target's; false: it cannot be read. */
bool plan_read(const struct planner *planner, uint64_t addr, void *word,
	       size_t size);

static inline uint64_t plan_product(uint64_t count, uint64_t size)
{
	uint64_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

/* The kernel takes the low half only; a negative size is an error: 0. */
static inline uint64_t plan_int(uint64_t arg)
{
	return (arg & UINT64_C(0x80000000)) ? 0 : (uint32_t)arg;
}
