/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * buffer - bytes that grow
 *
 * Appending never fails half way: when memory runs out the buffer is marked
 * and every later append does nothing, so that only the end is checked.
 */

#include "base/macro.h"

struct buffer {
	char *data;
	size_t size;	 /* bytes in use */
	size_t capacity; /* bytes allocated */
	bool failed;	 /* an append had no memory */
};

void buffer_done(struct buffer *buffer);
void buffer_clear(struct buffer *buffer); /* keeps the allocation */

/*
 * Room for @size bytes behind those in use, NULL if there is no memory; what
 * was written there is taken with buffer_take().
 */
char *buffer_grow(struct buffer *buffer, size_t size);

static inline char *buffer_room(struct buffer *buffer, size_t size)
{
	if (buffer->failed || size > buffer->capacity - buffer->size)
		return buffer_grow(buffer, size);
	return buffer->data + buffer->size;
}

static inline void buffer_take(struct buffer *buffer, const char *end)
{
	buffer->size = (size_t)(end - buffer->data);
}

void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_string(struct buffer *buffer, const char *text);
void buffer_format(struct buffer *buffer, const char *format, ...)
	_printf_(2, 3);

static inline void buffer_char(struct buffer *buffer, char c)
{
	buffer_append(buffer, &c, 1);
}
