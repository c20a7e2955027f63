/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * macro - the few words we add to the language
 *
 * Uses nothing of ours, is used by all.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define _printf_(fmt, args) __attribute__((__format__(printf, fmt, args)))
#define _must_check_	    __attribute__((__warn_unused_result__))

/* Run @func on the variable's address when it goes out of scope. */
#define _cleanup_(func) __attribute__((__cleanup__(func), __unused__))

/* Give away what a _cleanup_ variable owns. */
#define take(p)                                                                \
	({                                                                     \
		__auto_type taken_ = (p);                                      \
		(p) = NULL;                                                    \
		taken_;                                                        \
	})

/* Define TYPE_freep() for use with _cleanup_(), from TYPE_free(). */
#define DEFINE_CLEANUP(type)                                                   \
	static inline void type##_freep(struct type **p)                       \
	{                                                                      \
		type##_free(*p);                                               \
	}

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Of two results, the first that is an error. */
static inline int first_error(int a, int b)
{
	return a < 0 ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The x86-64 page; huge pages are split by the kernel when we guard them. */
#define PAGE UINT64_C(4096)

static inline uint64_t page_down(uint64_t addr)
{
	return addr & ~(PAGE - 1);
}

static inline uint64_t page_up(uint64_t addr)
{
	return (addr + PAGE - 1) & ~(PAGE - 1);
}
