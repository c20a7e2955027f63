/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* json-c has a type of that name. */
#define json_bool json_c_bool
#include <json-c/json.h>
#undef json_bool

#include "tracer/event/json.h"

static void out_is(struct buffer *out, const char *text)
{
	buffer_char(out, '\0');
	assert_false(out->failed);
	assert_string_equal(out->data, text);
	buffer_clear(out);
}

static void test_commas(void **state)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct json json = { .out = &out };

	json_open(&json, NULL);
	json_array(&json, "none");
	json_end(&json);
	json_open(&json, "empty");
	json_close(&json);
	json_array(&json, "list");
	json_number(&json, NULL, 1);
	json_open(&json, NULL);
	json_bool(&json, "yes", true);
	json_bool(&json, "no", false);
	json_close(&json);
	json_array(&json, NULL);
	json_string(&json, NULL, "x");
	json_end(&json);
	json_end(&json);
	json_integer(&json, "last", -1);
	json_close(&json);
	out_is(&out, "{\"none\":[],\"empty\":{},\"list\":[1,"
		     "{\"yes\":true,\"no\":false},[\"x\"]],\"last\":-1}");
}

static void test_numbers(void **state)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct json json = { .out = &out };

	json_array(&json, NULL);
	json_number(&json, NULL, 0);
	json_number(&json, NULL, 10);
	json_number(&json, NULL, UINT64_MAX);
	json_integer(&json, NULL, 0);
	json_integer(&json, NULL, INT64_MAX);
	json_integer(&json, NULL, INT64_MIN);
	json_end(&json);
	out_is(&out, "[0,10,18446744073709551615,0,9223372036854775807,"
		     "-9223372036854775808]");
}

static void test_strings_of_digits(void **state)
{
	static const uint8_t bytes[] = { 0x00, 0x7f, 0xff, 0xa5 };
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct json json = { .out = &out };

	json_array(&json, NULL);
	json_address(&json, NULL, 0);
	json_address(&json, NULL, 0x10);
	json_address(&json, NULL, UINT64_MAX);
	json_value(&json, NULL, 0xff, 1);
	json_value(&json, NULL, 0x1, 4);
	json_value(&json, NULL, UINT64_MAX - 1, 8);
	json_hex(&json, NULL, bytes, sizeof(bytes));
	json_hex(&json, NULL, bytes, 0);
	json_end(&json);
	out_is(&out, "[\"0x0\",\"0x10\",\"0xffffffffffffffff\",\"0xff\","
		     "\"0x00000001\",\"0xfffffffffffffffe\",\"007fffa5\","
		     "\"\"]");
}

static void test_times(void **state)
{
	static const struct timespec times[] = {
		{ 0, 0 }, { 1764438012, 1 }, { 9, 999999999 }, { INT64_MAX, 0 }
	};
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct json json = { .out = &out };

	json_array(&json, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		json_time(&json, NULL, &times[i]);
	json_end(&json);
	out_is(&out, "[\"0.000000000\",\"1764438012.000000001\","
		     "\"9.999999999\",\"9223372036854775807.000000000\"]");
}

static void test_reals(void **state)
{
	static const double values[] = { 0.1, 1.0 / 3, DBL_MAX, DBL_TRUE_MIN,
					 -5,  97,      1e21 };
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct json json = { .out = &out };

	json_open(&json, NULL);
	json_real(&json, "nan", NAN);
	json_real(&json, "infinity", INFINITY);
	json_real(&json, "tenth", 0.1);
	json_close(&json);
	out_is(&out, "{\"tenth\":0.1}");

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		json = (struct json){ .out = &out };
		json_real(&json, NULL, values[i]);
		buffer_char(&out, '\0');
		assert_memory_equal(&(double){ strtod(out.data, NULL) },
				    &values[i], sizeof(double));
		buffer_clear(&out);
	}
}

/* A comma would make two values of one.  Skipped where none is installed. */
static void test_reals_in_a_locale(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8",
					       "ps_AF.UTF-8" };
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct json json = { .out = &out };
	const char *found = NULL;

	for (size_t i = 0; !found && i < ARRAY_SIZE(locales); i++)
		found = setlocale(LC_NUMERIC, locales[i]);
	if (!found)
		skip();
	json_real(&json, NULL, 2.5);
	setlocale(LC_NUMERIC, "C");
	out_is(&out, "2.5");
}

static void test_absent_rather_than_null(void **state)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct json json = { .out = &out };

	json_open(&json, NULL);
	json_string(&json, "a", NULL);
	json_bytes(&json, "b", NULL, 0);
	json_string(&json, "c", "");
	json_string(&json, "d", NULL);
	json_close(&json);
	out_is(&out, "{\"c\":\"\"}");
}

/* The edges of table 3-7 of the Unicode standard, from both sides. */
static void test_escapes(void **state)
{
	static const struct {
		const char *bytes, *json;
	} cases[] = {
		{ "plain text", "plain text" },
		{ "\"\\/", "\\\"\\\\/" },
		{ "\n\t\r\b\x1b\x1f", "\\n\\t\\u000d\\u0008\\u001b\\u001f" },
		{ " ~\x7f", " ~\x7f" },
		{ "12345678\"2345678\\", "12345678\\\"2345678\\\\" },
		{ "\xc2\x80\xc2\x9f\xc2\xa0", "\\u0080\\u009f\xc2\xa0" },
		{ "\xc3\xa9 \xe2\x82\xac", "\xc3\xa9 \xe2\x82\xac" },
		{ "\xdf\xbf\xe0\xa0\x80", "\xdf\xbf\xe0\xa0\x80" },
		{ "\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80" },
		{ "\xef\xbf\xbf", "\xef\xbf\xbf" },
		{ "\xf0\x90\x80\x80", "\xf0\x90\x80\x80" },
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		/* a lone continuation, cut sequences */
		{ "\x80", "\\udc80" },
		{ "\xc3", "\\udcc3" },
		{ "\xc3(", "\\udcc3(" },
		{ "\xe2\x82", "\\udce2\\udc82" },
		{ "\xe2\x82\"", "\\udce2\\udc82\\\"" },
		{ "\xf0\x9f\x98", "\\udcf0\\udc9f\\udc98" },
		/* overlong */
		{ "\xc0\x80", "\\udcc0\\udc80" },
		{ "\xc1\xbf", "\\udcc1\\udcbf" },
		{ "\xe0\x9f\xbf", "\\udce0\\udc9f\\udcbf" },
		{ "\xf0\x8f\xbf\xbf", "\\udcf0\\udc8f\\udcbf\\udcbf" },
		/* surrogates, above U+10FFFF */
		{ "\xed\xa0\x80", "\\udced\\udca0\\udc80" },
		{ "\xed\xbf\xbf", "\\udced\\udcbf\\udcbf" },
		{ "\xf4\x90\x80\x80", "\\udcf4\\udc90\\udc80\\udc80" },
		{ "\xf5\x80\xff\xfe", "\\udcf5\\udc80\\udcff\\udcfe" },
	};
	_cleanup_(buffer_done) struct buffer out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json json = { .out = &out };
		char expected[128];

		snprintf(expected, sizeof(expected), "\"%s\"", cases[i].json);
		json_string(&json, NULL, cases[i].bytes);
		out_is(&out, expected);
	}
}

static void test_a_nul_is_a_character(void **state)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct json json = { .out = &out };

	json_bytes(&json, NULL, "a\0b", 3);
	out_is(&out, "\"a\\u0000b\"");
}

/* Every byte at every place of a word, where eight are looked at at once. */
static void test_every_byte_in_every_place(void **state)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };

	for (unsigned byte = 0; byte < 256; byte++) {
		for (size_t place = 0; place < 16; place++) {
			struct json json = { .out = &out };
			char text[16];
			bool plain = byte >= 0x20 && byte < 0x80 &&
				     byte != '"' && byte != '\\';

			memset(text, byte & 1 ? ' ' : '~', sizeof(text));
			text[place] = (char)byte;
			json_bytes(&json, NULL, text, sizeof(text));
			assert_int_equal(out.size == sizeof(text) + 2, plain);
			buffer_clear(&out);
		}
	}
}

static size_t random_codepoint(unsigned *seed, char *text)
{
	static const unsigned limits[] = { 0x80, 0x100, 0x800, 0x10000,
					   0x110000 };
	unsigned limit = limits[(size_t)rand_r(seed) % ARRAY_SIZE(limits)];
	unsigned c = (unsigned)rand_r(seed) % limit;

	if (c >= 0xd800 && c < 0xe000)
		c -= 0x800;
	if (c < 0x80) {
		text[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		text[0] = (char)(0xc0 | c >> 6);
		text[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		text[0] = (char)(0xe0 | c >> 12);
		text[1] = (char)(0x80 | (c >> 6 & 63));
		text[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	text[0] = (char)(0xf0 | c >> 18);
	text[1] = (char)(0x80 | (c >> 12 & 63));
	text[2] = (char)(0x80 | (c >> 6 & 63));
	text[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* json-c does not take lone surrogates, so it gets valid UTF-8 only. */
static void test_json_c_reads_valid_text(void **state)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		struct json json = { .out = &out };
		struct json_object *object;
		char text[128];
		size_t size = 0;

		while (size < 100 && rand_r(&seed) % 24)
			size += random_codepoint(&seed, text + size);
		buffer_clear(&out);
		json_bytes(&json, NULL, text, size);
		buffer_char(&out, '\0');
		object = json_tokener_parse(out.data);
		assert_non_null(object);
		assert_int_equal(json_object_get_string_len(object), size);
		assert_memory_equal(json_object_get_string(object), text, size);
		json_object_put(object);
	}
}

/* Bytes that begin or continue a character come more often. */
static size_t random_bytes(unsigned *seed, char text[40])
{
	static const uint8_t likely[] = { 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0,
					  0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef,
					  0xf0, 0xf4, 0xf5, '"',  '\\', 0x8f };
	size_t size = (size_t)rand_r(seed) % 40;
	bool any = rand_r(seed) % 2;

	for (size_t i = 0; i < size; i++)
		text[i] = (char)(any ? (unsigned)rand_r(seed) % 256
				     : likely[(size_t)rand_r(seed) %
					      ARRAY_SIZE(likely)]);
	return size;
}

static void write_random_lines(FILE *file)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	unsigned seed = 2;

	for (int i = 0; i < 100000; i++) {
		struct json json = { .out = &out };
		char text[40];
		size_t size = random_bytes(&seed, text);

		json_open(&json, NULL);
		json_hex(&json, "x", (const uint8_t *)text, size);
		json_bytes(&json, "s", text, size);
		json_close(&json);
		buffer_char(&out, '\n');
	}
	assert_int_equal(fwrite(out.data, 1, out.size, file), out.size);
	assert_int_equal(fflush(file), 0);
}

/* The bytes come back, and jq takes the lone surrogates for valid. */
static void test_others_read_random_bytes(void **state)
{
	static const char python[] =
		"/usr/bin/python3 -c '"
		"import json, sys\n"
		"lines = open(sys.argv[1], \"rb\").read().decode(\"utf-8\")\n"
		"count = 0\n"
		"for line in lines.split(\"\\n\")[:-1]:\n"
		"    record = json.loads(line)\n"
		"    back = record[\"s\"].encode(\"utf-8\", "
		"\"surrogateescape\")\n"
		"    if back != bytes.fromhex(record[\"x\"]):\n"
		"        sys.exit(\"not the same: \" + line.encode()"
		".hex())\n"
		"    count += 1\n"
		"sys.exit(count != 100000)' %s";
	char path[] = "/tmp/test_json.XXXXXX";
	char command[1024];
	int fd = mkstemp(path);
	_cleanup_(fclosep) FILE *file = NULL;
	int by_python, by_jq;

	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	write_random_lines(file);

	snprintf(command, sizeof(command), python, path);
	by_python = system(command);
	snprintf(command, sizeof(command), "jq -e . %s >/dev/null", path);
	by_jq = system(command);
	unlink(path);
	assert_int_equal(by_python, 0);
	assert_int_equal(by_jq, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commas),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings_of_digits),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_reals),
		cmocka_unit_test(test_reals_in_a_locale),
		cmocka_unit_test(test_absent_rather_than_null),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_a_nul_is_a_character),
		cmocka_unit_test(test_every_byte_in_every_place),
		cmocka_unit_test(test_json_c_reads_valid_text),
		cmocka_unit_test(test_others_read_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
