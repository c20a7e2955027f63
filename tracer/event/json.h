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

#include <time.h>

#include "base/buffer.h"

struct json {
	struct buffer *out;
	bool comma; /* the next value needs one */
};

void json_open(struct json *json, const char *key);  /* { ; key NULL: none */
void json_close(struct json *json);		     /* } */
void json_array(struct json *json, const char *key); /* [ */
void json_end(struct json *json);		     /* ] */

void json_string(struct json *json, const char *key, const char *value);
void json_bytes(struct json *json, const char *key, const char *value,
		size_t size);
void json_number(struct json *json, const char *key, uint64_t value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);

/* "0x1f", a string: jq rounds integers above 2^53. */
void json_address(struct json *json, const char *key, uint64_t value);

/* "0x000000ff" for size 4: as many digits as the value has; size up to 8. */
void json_value(struct json *json, const char *key, uint64_t value,
		unsigned size);

/* "00ff7f": bytes in the order of memory. */
void json_hex(struct json *json, const char *key, const uint8_t *bytes,
	      size_t size);

/* "1764438012.000000001": seconds and nanoseconds, exact. */
void json_time(struct json *json, const char *key, const struct timespec *time);
