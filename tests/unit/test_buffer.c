/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"

static void buffer_holds(const struct buffer *buffer, const char *text)
{
	assert_false(buffer->failed);
	assert_int_equal(buffer->size, strlen(text));
	assert_true(buffer->capacity >= buffer->size);
	assert_memory_equal(buffer->data, text, strlen(text));
}

static void test_appends(void **state)
{
	_cleanup_(buffer_done) struct buffer buffer = { 0 };

	buffer_append(&buffer, "ab\0c", 4);
	assert_int_equal(buffer.size, 4);
	assert_memory_equal(buffer.data, "ab\0c", 4);

	buffer_clear(&buffer);
	buffer_string(&buffer, "one");
	buffer_char(&buffer, ' ');
	buffer_format(&buffer, "%d %s", 2, "three");
	buffer_append(&buffer, "", 0);
	buffer_string(&buffer, "");
	buffer_format(&buffer, "%s", "");
	buffer_holds(&buffer, "one 2 three");
}

/* Every size around a growth, compared with a plain array. */
static void test_grows(void **state)
{
	static char expected[4096];

	for (size_t i = 0; i < sizeof(expected); i++)
		expected[i] = (char)('a' + i % 23);

	for (size_t step = 1; step <= 1025; step = step * 2 + (step == 1)) {
		_cleanup_(buffer_done) struct buffer buffer = { 0 };
		size_t done = 0;

		for (; done + step <= sizeof(expected); done += step)
			buffer_append(&buffer, expected + done, step);
		assert_int_equal(buffer.size, done);
		assert_memory_equal(buffer.data, expected, done);
	}
}

static void test_formats_what_does_not_fit(void **state)
{
	_cleanup_(buffer_done) struct buffer buffer = { 0 };
	char text[1001];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 300; i++)
		buffer_format(&buffer, "%s", i < 200 ? "y" : text);
	assert_int_equal(buffer.size, 200 + 100 * 1000);
	assert_int_equal(buffer.data[199], 'y');
	assert_int_equal(buffer.data[200], 'x');
	assert_int_equal(buffer.data[buffer.size - 1], 'x');
}

static void test_clear_keeps_the_allocation(void **state)
{
	_cleanup_(buffer_done) struct buffer buffer = { 0 };
	size_t capacity;
	char *data;

	for (int i = 0; i < 1000; i++)
		buffer_string(&buffer, "0123456789");
	data = buffer.data;
	capacity = buffer.capacity;
	buffer_clear(&buffer);
	assert_int_equal(buffer.size, 0);
	buffer_string(&buffer, "short");
	buffer_holds(&buffer, "short");
	assert_ptr_equal(buffer.data, data);
	assert_int_equal(buffer.capacity, capacity);
}

static void test_done_can_be_used_again(void **state)
{
	_cleanup_(buffer_done) struct buffer buffer = { 0 };

	buffer_string(&buffer, "gone");
	buffer_done(&buffer);
	assert_null(buffer.data);
	assert_int_equal(buffer.size, 0);
	assert_int_equal(buffer.capacity, 0);
	buffer_done(&buffer);
	buffer_string(&buffer, "again");
	buffer_holds(&buffer, "again");
}

/* More than the address space: the bytes are never looked at. */
static void test_no_memory_is_marked(void **state)
{
	_cleanup_(buffer_done) struct buffer buffer = { 0 };

	buffer_string(&buffer, "kept");
	buffer_append(&buffer, "lost", (size_t)1 << 60);
	assert_true(buffer.failed);

	buffer_string(&buffer, "ignored");
	buffer_char(&buffer, '.');
	buffer_format(&buffer, "%d", 1);
	assert_true(buffer.failed);
	assert_int_equal(buffer.size, 4);
	assert_memory_equal(buffer.data, "kept", 4);

	buffer_clear(&buffer);
	buffer_string(&buffer, "again");
	buffer_holds(&buffer, "again");
}

/* AddressSanitizer's allocator aborts by default where malloc gives NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_appends),
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_formats_what_does_not_fit),
		cmocka_unit_test(test_clear_keeps_the_allocation),
		cmocka_unit_test(test_done_can_be_used_again),
		cmocka_unit_test(test_no_memory_is_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
