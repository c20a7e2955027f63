/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static void test_number_and_sentence(void **state)
{
	struct error err = { 0 };

	assert_int_equal(error_set(&err, -EPERM, "pid %d: %s", 12, "no"),
			 -EPERM);
	assert_int_equal(err.number, -EPERM);
	assert_string_equal(err.text, "pid 12: no");
}

static void test_nobody_wants_the_sentence(void **state)
{
	assert_int_equal(error_set(NULL, -EINVAL, "%s", "unheard"), -EINVAL);
}

static void test_the_last_one_counts(void **state)
{
	struct error err = { 0 };

	error_set(&err, -EPERM, "%s", "a long sentence about permissions");
	error_set(&err, -ENOENT, "%s", "short");
	assert_int_equal(err.number, -ENOENT);
	assert_string_equal(err.text, "short");
}

/* Cut at the end, terminated, and nothing behind it is touched. */
static void test_long_sentences_are_cut(void **state)
{
	struct {
		struct error err;
		char behind[16];
	} room;
	char text[2 * sizeof(room.err.text)];

	memset(&room, '!', sizeof(room));
	memset(text, 'x', sizeof(text));
	for (size_t length = sizeof(room.err.text) - 2;
	     length <= sizeof(room.err.text) + 2; length++) {
		size_t kept = sizeof(room.err.text) - 1;

		if (length < kept)
			kept = length;
		error_set(&room.err, -EIO, "%.*s", (int)length, text);
		assert_int_equal(strlen(room.err.text), kept);
	}
	for (size_t i = 0; i < sizeof(room.behind); i++)
		assert_int_equal(room.behind[i], '!');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number_and_sentence),
		cmocka_unit_test(test_nobody_wants_the_sentence),
		cmocka_unit_test(test_the_last_one_counts),
		cmocka_unit_test(test_long_sentences_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
