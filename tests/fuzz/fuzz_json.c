/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the strings of a record: each line is JSON, and the bytes can
 * be had back.
 */
/* json-c has a type of that name. */
#define json_bool json_c_bool
#include <json-c/json.h>
#undef json_bool

#include "tests/fuzz/fuzz.h"
#include "tracer/event/json.h"
#include "tracer/event/record.h"

static unsigned hexadecimal(const char *text)
{
	char digits[5] = "", *end;
	unsigned value;

	memcpy(digits, text, 4);
	value = strtoul(digits, &end, 16);
	expect(end == digits + 4);
	return value;
}

/* The bytes of \uXXXX: a byte that was no UTF-8, or a control character. */
static size_t unescape(unsigned code, uint8_t *to)
{
	if (code >= 0xdc80 && code <= 0xdcff) {
		to[0] = code & 0xff;
		return 1;
	}
	expect(code < 0xa0);
	if (code < 0x80) {
		to[0] = code;
		return 1;
	}
	to[0] = 0xc0 | code >> 6;
	to[1] = 0x80 | (code & 0x3f);
	return 2;
}

/* What stands between the quotation marks of @text; returns its size. */
static size_t decode(const char *text, size_t size, uint8_t *to)
{
	size_t n = 0;

	expect(size >= 2 && text[0] == '"' && text[size - 1] == '"');
	for (size_t i = 1; i < size - 1; i++) {
		expect((uint8_t)text[i] >= 0x20 && text[i] != '"');
		if (text[i] != '\\') {
			to[n++] = text[i];
			continue;
		}
		switch (text[++i]) {
		case 'n':
			to[n++] = '\n';
			break;
		case 't':
			to[n++] = '\t';
			break;
		case 'u':
			expect(size - i > 5);
			n += unescape(hexadecimal(text + i + 1), to + n);
			i += 4;
			break;
		default:
			expect(text[i] == '"' || text[i] == '\\');
			to[n++] = text[i];
		}
	}
	return n;
}

static void try_string(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	_cleanup_(freep) uint8_t *back = NULL;
	struct json json = { .out = &out };

	json_bytes(&json, NULL, (const char *)data, size);
	expect(!out.failed && out.size <= 2 + 6 * size);
	back = malloc(out.size);
	expect(back);
	expect(decode(out.data, out.size, back) == size);
	expect(!size || memcmp(back, data, size) == 0);
}

/* One line, one object. */
static void check_line(struct buffer *out)
{
	struct json_object *object;
	enum json_tokener_error error;

	expect(!out->failed && out->size > 1);
	expect(memchr(out->data, '\n', out->size) == out->data + out->size - 1);
	out->data[out->size - 1] = '\0';
	object = json_tokener_parse_verbose(out->data, &error);
	expect(object && error == json_tokener_success);
	json_object_put(object);
}

static void try_record(struct input *input, char *const text[8])
{
	_cleanup_(buffer_done) struct buffer stack = { 0 };
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct record_memo memo = { 0 };
	uint8_t old[EVENT_SHOWN], new[EVENT_SHOWN], bytes[15];
	const struct event_frame frame = { .ip = input_word(input),
					   .function = text[4],
					   .offset = input_word(input),
					   .module = text[5] };
	struct event_access access = {
		.time = { input_word(input) >> 2,
			  input_word(input) % 1000000000 },
		.comm = text[0],
		.op = input_byte(input) % 4,
		.addr = input_word(input),
		.size = input_word(input) >> (input_byte(input) % 64),
		.count = input_byte(input),
		.insn = input_byte(input) & 1 ? text[1] : NULL,
		.bytes = bytes,
		.nbytes = input_byte(input),
		.shown = input_byte(input),
		.old = old,
		.new = new,
		.syscall = input_byte(input) & 1 ? text[6] : NULL,
		.component = { .kind = input_byte(input) & 1 ? "object"
							     : "block",
			       .runtime = text[2][0] ? "c++" : "",
			       .name = text[3],
			       .member = text[7],
			       .start = input_word(input),
			       .size = input_word(input) },
		.stack_text = input_byte(input) & 1 ? &stack : NULL,
	};

	input_take(input, bytes, sizeof(bytes));
	input_take(input, old, sizeof(old));
	input_take(input, new, sizeof(new));
	record_frames(&stack, &frame, 1, text[5]);
	/* Anew, and as remembered. */
	for (unsigned i = 0; i < 2; i++) {
		buffer_clear(&out);
		record_access(&out, &access, &memo);
		check_line(&out);
	}
	record_memo_done(&memo);
	buffer_clear(&out);
	record_warning(&out, text[0], &access.time);
	check_line(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	char *text[8];

	try_string(data, size);
	for (unsigned i = 0; i < ARRAY_SIZE(text); i++)
		text[i] = input_text(&input);
	try_record(&input, text);
	for (unsigned i = 0; i < ARRAY_SIZE(text); i++)
		free(text[i]);
	return 0;
}
