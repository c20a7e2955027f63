/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "tracer/event/json.h"

enum { NANOSECONDS = 9 }; /* digits */

static const char digits[] = "0123456789abcdef";

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

	buffer_append(json->out, text, sizeof(text));
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
		buffer_append(json->out, (const char *)text, length);
	else if (text[0] == '\n')
		buffer_append(json->out, "\\n", 2);
	else if (text[0] == '\t')
		buffer_append(json->out, "\\t", 2);
	else if (text[0] < 0x20)
		json_escape(json, text[0]);
	else
		buffer_append(json->out, (char[]){ '\\', (char)text[0] }, 2);
	return length;
}

/* Bytes at the start of @text that stand for themselves. */
static size_t plain_length(const uint8_t *text, size_t size)
{
	size_t end = 0;

	while (size - end >= 8 && are_plain(text + end))
		end += 8;
	while (end < size && is_plain(text[end]))
		end++;
	return end;
}

void json_bytes(struct json *json, const char *key, const char *value,
		size_t size)
{
	const uint8_t *text = (const uint8_t *)value;
	size_t done = value ? plain_length(text, size) : 0;
	char *to = value ? json_begin(json, key, done + 2) : NULL;

	if (!to)
		return;
	*to++ = '"';
	memcpy(to, text, done);
	buffer_take(json->out, to + done);
	while (done < size) {
		size_t end = plain_length(text + done, size - done);

		buffer_append(json->out, text + done, end);
		done += end;
		if (done < size)
			done += json_character(json, text + done, size - done);
	}
	buffer_char(json->out, '"');
}

static const char pairs[] =
	"00010203040506070809101112131415161718192021222324"
	"25262728293031323334353637383940414243444546474849"
	"50515253545556575859606162636465666768697071727374"
	"75767778798081828384858687888990919293949596979899";

/* Two digits at a time, from behind. */
static void put_digits(char *end, uint64_t value, unsigned count)
{
	for (; count >= 2; count -= 2) {
		end -= 2;
		memcpy(end, pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (count)
		end[-1] = digits[value % 10];
}

static unsigned count_digits(uint64_t value)
{
	unsigned count = 1;

	for (; value >= 10000; value /= 10000)
		count += 4;
	return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

char *json_put_number(char *to, uint64_t value)
{
	unsigned count;

	if (value < 10) {
		*to = digits[value];
		return to + 1;
	}
	count = count_digits(value);
	put_digits(to + count, value, count);
	return to + count;
}

char *json_put_integer(char *to, int64_t value)
{
	if (value >= 0)
		return json_put_number(to, (uint64_t)value);
	*to++ = '-';
	return json_put_number(to, -(uint64_t)value);
}

/* The lower half of @value: each nibble a byte, the highest first. */
static uint64_t spread(uint32_t value)
{
	uint64_t x = value;

	x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
	x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return __builtin_bswap64(x);
}

/* '0' + nibble, or 'a' + nibble - 10, in eight bytes at once. */
static void put_eight(char *to, uint32_t value)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t nibbles = spread(value);
	uint64_t letters = (nibbles + ones * 6) >> 4 & ones;
	uint64_t text = nibbles + ones * '0' + letters * ('a' - 10 - '0');

	memcpy(to, &text, sizeof(text));
}

/* The lowest @nibbles of @value; all sixteen are written. */
static char *put_hex(char *to, uint64_t value, unsigned nibbles)
{
	memcpy(to, "\"0x", 3);
	to += 3;
	value <<= 4 * (16 - nibbles);
	put_eight(to, (uint32_t)(value >> 32));
	put_eight(to + 8, (uint32_t)value);
	to += nibbles;
	*to++ = '"';
	return to;
}

char *json_put_address(char *to, uint64_t value)
{
	unsigned bits = value ? 64 - (unsigned)__builtin_clzll(value) : 1;

	return put_hex(to, value, (bits + 3) / 4);
}

char *json_put_value(char *to, uint64_t value, unsigned size)
{
	return put_hex(to, value, 2 * size);
}

char *json_put_time(char *to, const struct timespec *time)
{
	*to++ = '"';
	to = json_put_number(to, (uint64_t)time->tv_sec);
	*to++ = '.';
	put_digits(to + NANOSECONDS, (uint64_t)time->tv_nsec, NANOSECONDS);
	to += NANOSECONDS;
	*to++ = '"';
	return to;
}

void json_real(struct json *json, const char *key, double value)
{
	char text[64];
	size_t size = 0;
	int length;
	char *to;

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
	to = json_begin(json, key, size);
	if (!to)
		return;
	memcpy(to, text, size);
	buffer_take(json->out, to + size);
}

void json_hex(struct json *json, const char *key, const uint8_t *bytes,
	      size_t size)
{
	char *to = json_begin(json, key, 2 * size + 2);

	if (!to)
		return;
	*to++ = '"';
	for (size_t i = 0; i < size; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	*to++ = '"';
	buffer_take(json->out, to);
}
