/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table.h"

static void test_empty_table_holds_nothing(void **state)
{
	struct table table = { 0 };

	assert_null(table_get(&table, 0));
	table_remove(&table, 7);
	table_for_each(&table, s) fail_msg("a slot with a value: %p", s->value);
	table_done(&table);
}

static void test_put_replaces(void **state)
{
	struct table table = { 0 };
	int a, b;

	assert_int_equal(table_put(&table, 0, &a), 0);
	assert_int_equal(table_put(&table, 0, &b), 0);
	assert_ptr_equal(table_get(&table, 0), &b);
	assert_int_equal(table.count, 1);
	table_done(&table);
}

/* Against an array, with keys that fall together and removal in any order. */
static void test_agrees_with_an_array(void **state)
{
	enum { KEYS = 512, ROUNDS = 200000 };
	static int value[KEYS];
	static void *model[KEYS];
	struct table table = { 0 };
	uint64_t seed = 1, count = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t key, k;

		seed = seed * UINT64_C(6364136223846793005) + 1;
		k = (seed >> 33) % KEYS;
		key = k << 12; /* page addresses differ in high bits only */
		if (seed >> 63) {
			assert_int_equal(table_put(&table, key, &value[k]), 0);
			count += !model[k];
			model[k] = &value[k];
		} else {
			table_remove(&table, key);
			count -= model[k] != NULL;
			model[k] = NULL;
		}
		assert_int_equal(table.count, count);
		k = (seed >> 20) % KEYS;
		assert_ptr_equal(table_get(&table, k << 12), model[k]);
	}
	table_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_table_holds_nothing),
		cmocka_unit_test(test_put_replaces),
		cmocka_unit_test(test_agrees_with_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
