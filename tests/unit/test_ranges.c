/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tracer/guard/ranges.h"

enum { SPAN = 256, FREE = 0xff };

static void check(const struct ranges *ranges, const uint8_t *model)
{
	for (size_t i = 0; i < ranges->count; i++) {
		const struct range *r = &ranges->range[i];

		assert_true(r->start < r->end);
		if (i == 0)
			continue;
		assert_true(r[-1].end <= r->start);
		/* what touches and has the same tag is one */
		assert_true(r[-1].end < r->start || r[-1].tag != r->tag);
	}
	for (uint64_t a = 0; a < SPAN; a++) {
		const struct range *r = ranges_find(ranges, a);

		assert_int_equal(r ? r->tag : FREE, model[a]);
	}
}

/* Against a byte for each address. */
static void test_agrees_with_an_array(void **state)
{
	uint8_t model[SPAN];
	struct ranges ranges = { 0 };
	uint64_t seed = 7;

	memset(model, FREE, sizeof(model));
	for (int i = 0; i < 20000; i++) {
		uint64_t start, end, tag;

		seed = seed * UINT64_C(6364136223846793005) + 1;
		start = (seed >> 33) % SPAN;
		end = start + (seed >> 41) % (SPAN - start + 1);
		tag = (seed >> 50) % 3;
		if ((seed >> 60) < 8)
			assert_int_equal(ranges_add(&ranges, start, end, tag),
					 0);
		else
			assert_int_equal(ranges_remove(&ranges, start, end), 0);
		for (uint64_t a = start; a < end; a++)
			if ((seed >> 60) >= 8)
				model[a] = FREE;
			else if (model[a] == FREE)
				model[a] = (uint8_t)tag;
		check(&ranges, model);
	}
	ranges_done(&ranges);
}

static void test_overlap_is_the_first(void **state)
{
	struct ranges ranges = { 0 };

	assert_int_equal(ranges_add(&ranges, 10, 20, 1), 0);
	assert_int_equal(ranges_add(&ranges, 30, 40, 2), 0);
	assert_null(ranges_overlap(&ranges, 0, 10));
	assert_null(ranges_overlap(&ranges, 20, 30));
	assert_null(ranges_overlap(&ranges, 40, UINT64_MAX));
	assert_int_equal(ranges_overlap(&ranges, 0, 11)->tag, 1);
	assert_int_equal(ranges_overlap(&ranges, 19, 31)->tag, 1);
	assert_int_equal(ranges_overlap(&ranges, 20, 31)->tag, 2);
	ranges_done(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agrees_with_an_array),
		cmocka_unit_test(test_overlap_is_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
