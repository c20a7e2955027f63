/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "tracer/event/json.h"

static const char digits[] = "0123456789abcdef";

/*
 * A line is some hundred tiny appends, and there may be a line for every
 * access: where the bytes fit, they are stored right here.
 */
static inline void put(struct json *json, const void *data, size_t size)
{
	struct buffer *out = json->out;

	if (out->failed || size > out->capacity - out->size) {
		buffer_append(out, data, size);
		return;
	}
	memcpy(out->data + out->size, data, size);
	out->size += size;
}

static inline void put_char(struct json *json, char c)
{
	put(json, &c, 1);
}

/* What stands before a value: a comma if one came before it, and its key. */
static void json_key(struct json *json, const char *key)
{
	if (json->comma)
		put_char(json, ',');
	json->comma = true;
	if (!key)
		return;
	put_char(json, '"');
	put(json, key, strlen(key));
	put(json, "\":", 2);
}

void json_open(struct json *json, const char *key)
{
	json_key(json, key);
	put_char(json, '{');
	json->comma = false;
}

void json_close(struct json *json)
{
	put_char(json, '}');
	json->comma = true;
}

void json_array(struct json *json, const char *key)
{
	json_key(json, key);
	put_char(json, '[');
	json->comma = false;
}

void json_end(struct json *json)
{
	put_char(json, ']');
	json->comma = true;
}

/* 10xxxxxx, and inside the bounds that the byte before it left. */
static bool continues(uint8_t byte, uint8_t low, uint8_t high)
{
	return byte >= low && byte <= high;
}

/*
 * Bytes of the well-formed UTF-8 sequence at @text, 0 if it is none: table
 * 3-7 of the Unicode standard.  The bounds of the second byte are what keeps
 * overlong forms, surrogates and everything above U+10FFFF out.
 */
static size_t utf8_length(const uint8_t *text, size_t size)
{
	static const struct {
		uint8_t first, last, low, high, length;
	} forms[] = {
		{ 0x00, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t form = 0;

	while (form < ARRAY_SIZE(forms) && text[0] > forms[form].last)
		form++;
	if (form == ARRAY_SIZE(forms) || text[0] < forms[form].first ||
	    size < forms[form].length)
		return 0;

	for (size_t i = 1; i < forms[form].length; i++) {
		if (!continues(text[i], i == 1 ? forms[form].low : 0x80,
			       i == 1 ? forms[form].high : 0xbf))
			return 0;
	}
	return forms[form].length;
}

static void json_escape(struct json *json, unsigned unit)
{
	const char text[] = { '\\',
			      'u',
			      digits[unit >> 12 & 15],
			      digits[unit >> 8 & 15],
			      digits[unit >> 4 & 15],
			      digits[unit & 15] };

	put(json, text, sizeof(text));
}

static bool is_plain(uint8_t byte)
{
	return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/*
 * The same for eight bytes at once.  A difference borrows into the byte's top
 * bit where it goes below zero; borrows between bytes can only make a plain
 * byte look special, never the other way round.
 */
static bool are_plain(const uint8_t *text)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t word, quote, backslash, low;

	memcpy(&word, text, sizeof(word));
	quote = (word ^ ones * '"') - ones;
	backslash = (word ^ ones * '\\') - ones;
	low = word - ones * 0x20;
	return !((word | quote | backslash | low) & ones * 0x80);
}

/*
 * One character that is not plain ASCII; returns how many bytes it took.
 * U+0080..U+009f are control characters as well: terminals obey them.
 */
static size_t json_character(struct json *json, const uint8_t *text,
			     size_t size)
{
	size_t length = utf8_length(text, size);

	if (length == 0) {
		json_escape(json, 0xdc00 | text[0]);
		return 1;
	}
	if (length == 2 && text[0] == 0xc2 && text[1] < 0xa0)
		json_escape(json, text[1]);
	else if (length > 1)
		put(json, text, length);
	else if (text[0] == '\n')
		put(json, "\\n", 2);
	else if (text[0] == '\t')
		put(json, "\\t", 2);
	else if (text[0] < 0x20)
		json_escape(json, text[0]);
	else
		put(json, (char[]){ '\\', (char)text[0] }, 2);
	return length;
}

void json_bytes(struct json *json, const char *key, const char *value,
		size_t size)
{
	const uint8_t *text = (const uint8_t *)value;
	size_t done = 0;

	if (!value)
		return;
	json_key(json, key);
	put_char(json, '"');
	while (done < size) {
		size_t end = done;

		while (size - end >= 8 && are_plain(text + end))
			end += 8;
		while (end < size && is_plain(text[end]))
			end++;
		put(json, text + done, end - done);
		done = end;
		if (done < size)
			done += json_character(json, text + done, size - done);
	}
	put_char(json, '"');
}

void json_string(struct json *json, const char *key, const char *value)
{
	if (value)
		json_bytes(json, key, value, strlen(value));
}

/* Decimal digits of @value at the end of @text; returns where they begin. */
static char *decimal(char *end, uint64_t value)
{
	do {
		*--end = digits[value % 10];
		value /= 10;
	} while (value);
	return end;
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	char text[20];
	char *end = text + sizeof(text);
	char *start = decimal(end, value);

	json_key(json, key);
	put(json, start, (size_t)(end - start));
}

void json_integer(struct json *json, const char *key, int64_t value)
{
	char text[21];
	char *end = text + sizeof(text);
	uint64_t magnitude = (uint64_t)value;
	char *start;

	start = decimal(end, value < 0 ? -magnitude : magnitude);
	if (value < 0)
		*--start = '-';
	json_key(json, key);
	put(json, start, (size_t)(end - start));
}

void json_real(struct json *json, const char *key, double value)
{
	char text[64];
	size_t size = 0;
	int length;

	if (!isfinite(value))
		return;
	length = snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) < value || strtod(text, NULL) > value)
		length = snprintf(text, sizeof(text), "%.17g", value);

	/* The decimal point is the locale's, and may be several bytes. */
	for (int i = 0; i < length; i++) {
		if (strchr("0123456789+-e", text[i]))
			text[size++] = text[i];
		else if (size == 0 || text[size - 1] != '.')
			text[size++] = '.';
	}
	json_key(json, key);
	put(json, text, size);
}

void json_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	put(json, value ? "true" : "false", value ? 4 : 5);
}

void json_address(struct json *json, const char *key, uint64_t value)
{
	char text[20] = "\"0x";
	unsigned nibbles = 1;
	size_t size = 3;

	while (nibbles < 16 && value >> nibbles * 4)
		nibbles++;
	while (nibbles--)
		text[size++] = digits[value >> nibbles * 4 & 15];
	text[size++] = '"';
	json_key(json, key);
	put(json, text, size);
}

void json_value(struct json *json, const char *key, uint64_t value,
		unsigned size)
{
	char text[20] = "\"0x";
	size_t used = 3;

	for (unsigned i = 2 * size; i-- > 0;)
		text[used++] = digits[value >> i * 4 & 15];
	text[used++] = '"';
	json_key(json, key);
	put(json, text, used);
}

void json_hex(struct json *json, const char *key, const uint8_t *bytes,
	      size_t size)
{
	json_key(json, key);
	put_char(json, '"');
	for (size_t i = 0; i < size; i++) {
		const char pair[] = { digits[bytes[i] >> 4],
				      digits[bytes[i] & 15] };

		put(json, pair, sizeof(pair));
	}
	put_char(json, '"');
}

void json_time(struct json *json, const char *key, const struct timespec *time)
{
	char text[32];
	char *end = text + sizeof(text);
	char *start = end;
	uint64_t nanoseconds = (uint64_t)time->tv_nsec;

	*--start = '"';
	for (int i = 0; i < 9; i++, nanoseconds /= 10)
		*--start = digits[nanoseconds % 10];
	*--start = '.';
	start = decimal(start, (uint64_t)time->tv_sec);
	*--start = '"';
	json_key(json, key);
	put(json, start, (size_t)(end - start));
}
