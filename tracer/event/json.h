/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * json - a streaming JSON writer
 *
 * Appends to a buffer; commas are its business.  Strings are bytes of
 * somebody else: valid UTF-8 is kept, control characters are escaped, and each
 * byte that is not UTF-8 becomes \udcXX (as Python's surrogateescape), so the
 * line is always valid JSON and the bytes can be had back.
 *
 * Absent rather than null: a string that is NULL and a real that is not finite
 * are left out together with their key.
 */

#include <string.h>
#include <time.h>

#include "base/buffer.h"

/*
 * There may be a line for every access, of some thirty values: what they have
 * in common is inline, so that a literal key is a few stores.
 */

struct json {
	struct buffer *out;
	bool comma; /* the next value needs one */
};

/* Longest text of a number, an address or a time, with quotes. */
enum { JSON_NUMBER = 40, JSON_KEY = 4 /* comma, quotes, colon */ };

/* A comma if a value came before, and the key if there is one. */
static inline char *json_key(struct json *json, char *to, const char *key,
			     size_t length)
{
	*to = ',';
	to += json->comma;
	json->comma = true;
	if (!key)
		return to;
	*to++ = '"';
	memcpy(to, key, length);
	to += length;
	*to++ = '"';
	*to++ = ':';
	return to;
}

/* Room for @size bytes behind the key, or NULL. */
static inline char *json_begin(struct json *json, const char *key, size_t size)
{
	size_t length = key ? strlen(key) : 0;
	char *to = buffer_room(json->out, length + JSON_KEY + size);

	return to ? json_key(json, to, key, length) : NULL;
}

/* Each writes at @to, at most JSON_NUMBER bytes, and returns the end. */
char *json_put_number(char *to, uint64_t value);
char *json_put_integer(char *to, int64_t value);
char *json_put_address(char *to, uint64_t value);
char *json_put_value(char *to, uint64_t value, unsigned size);
char *json_put_time(char *to, const struct timespec *time);

static inline void json_number(struct json *json, const char *key,
			       uint64_t value)
{
	char *to = json_begin(json, key, JSON_NUMBER);

	if (to)
		buffer_take(json->out, json_put_number(to, value));
}

static inline void json_integer(struct json *json, const char *key,
				int64_t value)
{
	char *to = json_begin(json, key, JSON_NUMBER);

	if (to)
		buffer_take(json->out, json_put_integer(to, value));
}

/* "0x1f", a string: jq rounds integers above 2^53. */
static inline void json_address(struct json *json, const char *key,
				uint64_t value)
{
	char *to = json_begin(json, key, JSON_NUMBER);

	if (to)
		buffer_take(json->out, json_put_address(to, value));
}

/* "0x000000ff" for size 4: as many digits as the value has; size up to 8. */
static inline void json_value(struct json *json, const char *key,
			      uint64_t value, unsigned size)
{
	char *to = json_begin(json, key, JSON_NUMBER);

	if (to)
		buffer_take(json->out, json_put_value(to, value, size));
}

/* "1764438012.000000001": seconds and nanoseconds, exact. */
static inline void json_time(struct json *json, const char *key,
			     const struct timespec *time)
{
	char *to = json_begin(json, key, JSON_NUMBER);

	if (to)
		buffer_take(json->out, json_put_time(to, time));
}

/* A string of our own, without a byte that must be escaped. */
static inline void json_word(struct json *json, const char *key,
			     const char *word)
{
	size_t length = strlen(word);
	char *to = json_begin(json, key, length + 2);

	if (!to)
		return;
	*to++ = '"';
	memcpy(to, word, length);
	to += length;
	*to++ = '"';
	buffer_take(json->out, to);
}

static inline void json_mark(struct json *json, const char *key, char mark)
{
	char *to = json_begin(json, key, 1);

	if (!to)
		return;
	*to++ = mark;
	buffer_take(json->out, to);
}

/* { and [ with key NULL: none */
static inline void json_open(struct json *json, const char *key)
{
	json_mark(json, key, '{');
	json->comma = false;
}

static inline void json_array(struct json *json, const char *key)
{
	json_mark(json, key, '[');
	json->comma = false;
}

static inline void json_close(struct json *json)
{
	buffer_char(json->out, '}');
	json->comma = true;
}

static inline void json_end(struct json *json)
{
	buffer_char(json->out, ']');
	json->comma = true;
}

void json_bytes(struct json *json, const char *key, const char *value,
		size_t size);

static inline void json_string(struct json *json, const char *key,
			       const char *value)
{
	if (value)
		json_bytes(json, key, value, strlen(value));
}

static inline void json_bool(struct json *json, const char *key, bool value)
{
	char *to = json_begin(json, key, 5);

	if (!to)
		return;
	memcpy(to, value ? "true" : "false", 5);
	buffer_take(json->out, to + (value ? 4 : 5));
}

void json_real(struct json *json, const char *key, double value);

/* "00ff7f": bytes in the order of memory. */
void json_hex(struct json *json, const char *key, const uint8_t *bytes,
	      size_t size);
