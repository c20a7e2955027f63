/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>

#include "base/buffer.h"

void buffer_done(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){ 0 };
}

void buffer_clear(struct buffer *buffer)
{
	buffer->size = 0;
	buffer->failed = false;
}

char *buffer_grow(struct buffer *buffer, size_t size)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 256;
	char *data;

	if (buffer->failed)
		return NULL;
	if (size <= buffer->capacity - buffer->size)
		return buffer->data + buffer->size;
	if (size > SIZE_MAX / 4) {
		buffer->failed = true;
		return NULL;
	}

	while (capacity - buffer->size < size)
		capacity *= 2;
	data = realloc(buffer->data, capacity);
	if (!data) {
		buffer->failed = true;
		return NULL;
	}
	buffer->data = data;
	buffer->capacity = capacity;
	return data + buffer->size;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
	char *to = size ? buffer_room(buffer, size) : NULL;

	if (!to)
		return;
	memcpy(to, data, size);
	buffer->size += size;
}

void buffer_string(struct buffer *buffer, const char *text)
{
	buffer_append(buffer, text, strlen(text));
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0 || !buffer_room(buffer, (size_t)length + 1))
		return;

	va_start(args, format);
	vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format,
		  args);
	va_end(args);
	buffer->size += (size_t)length;
}
