/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unwinder/bulk.h"

/* Memory whose words are their addresses, and nothing from END on. */
enum { START = 0x100000, END = START + 16 * PAGE };

static int reads;

static int read_words(void *context, uint64_t addr, void *buffer, size_t size)
{
	uint64_t *words = buffer;

	reads++;
	if (addr < START || addr + size > END)
		return -EFAULT;
	for (size_t i = 0; i < size / 8; i++)
		words[i] = addr + 8 * i;
	return 0;
}

static const struct memory memory = { .read = read_words };

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct bulk));
	reads = 0;
	return *state ? 0 : -1;
}

static int end(void **state)
{
	bulk_done(*state);
	free(*state);
	return 0;
}

/* One part, with all words from @start to @end. */
static void assert_words(const struct bulk *bulk, uint64_t start, uint64_t end)
{
	assert_int_equal(bulk->parts, 1);
	assert_int_equal(bulk->part[0].start, start);
	assert_int_equal(bulk->part[0].words, (end - start) / 8);
	for (uint64_t addr = start; addr < end; addr += 8) {
		uint64_t value;

		assert_int_equal(bulk_word(bulk, NULL, addr, &value), 0);
		assert_int_equal(value, addr);
	}
	assert_null(bulk_part(bulk, start - 8));
	assert_null(bulk_part(bulk, end));
}

/* A stack that is deeper than was thought takes few reads. */
static void test_doubles(void **state)
{
	struct bulk *bulk = *state;
	uint64_t at = START + 64;

	assert_int_equal(bulk_add(bulk, &memory, at, at + PAGE), 0);
	assert_ptr_equal(bulk_more(bulk, &memory, at + PAGE), bulk->part);
	assert_words(bulk, at, at + 2 * PAGE);
	assert_ptr_equal(bulk_more(bulk, &memory, at + 4 * PAGE - 8),
			 bulk->part);
	assert_words(bulk, at, at + 4 * PAGE);
	assert_int_equal(reads, 3);
}

static void test_ends_with_the_stack(void **state)
{
	struct bulk *bulk = *state;
	uint64_t at = END - PAGE - 512;

	assert_int_equal(bulk_add(bulk, &memory, at, at + 512), 0);
	assert_ptr_equal(bulk_more(bulk, &memory, at + 512), bulk->part);
	assert_words(bulk, at, END);
	assert_null(bulk_more(bulk, &memory, END));
	assert_words(bulk, at, END);
}

/* What lies below, or far above, belongs to another stack. */
static void test_is_one_stack(void **state)
{
	struct bulk *bulk = *state;
	uint64_t at = START + PAGE;

	assert_null(bulk_more(bulk, &memory, at));
	assert_int_equal(bulk_add(bulk, &memory, at, at + PAGE), 0);
	assert_null(bulk_more(bulk, &memory, at - 8));
	assert_null(bulk_more(bulk, &memory, at + 2 * PAGE));
	assert_words(bulk, at, at + PAGE);
	assert_int_equal(reads, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_doubles, begin, end),
		cmocka_unit_test_setup_teardown(test_ends_with_the_stack, begin,
						end),
		cmocka_unit_test_setup_teardown(test_is_one_stack, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
