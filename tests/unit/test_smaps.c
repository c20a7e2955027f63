/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/process/smaps.h"

static const char three[] =
	"55d0bfe00000-55d0bfe02000 r-xp 00001000 fe:01 1234    /usr/bin/a b\n"
	"Size:                  8 kB\n"
	"KernelPageSize:        4 kB\n"
	"MMUPageSize:           4 kB\n"
	"VmFlags: rd ex mr mw me \n"
	"7f0000000000-7f0000200000 rw-s 00000000 00:0f 7   /dev/hugepages/x\n"
	"KernelPageSize:     2048 kB\n"
	"THPeligible:           0\n"
	"VmFlags: rd wr sh um ht \n"
	"7f0000200000-7f0000201000 rw-p 00000000 00:00 0 \n"
	"VmFlags:\n";

struct seen {
	struct smaps_mapping mapping[4];
	bool um[4], ht[4];
	int count, stop;
};

static int note(void *context, const struct smaps_mapping *mapping)
{
	struct seen *seen = context;
	int at = seen->count++;

	seen->mapping[at] = *mapping;
	seen->um[at] = smaps_has(mapping, "um");
	seen->ht[at] = smaps_has(mapping, "ht");
	return seen->count == seen->stop ? -ECANCELED : 0;
}

static int parse(struct seen *seen)
{
	_cleanup_(fclosep) FILE *file =
		fmemopen((void *)(uintptr_t)three, strlen(three), "r");

	assert_non_null(file);
	return smaps_parse(file, note, seen);
}

static void test_fields(void **state)
{
	struct seen seen = { 0 };

	assert_int_equal(parse(&seen), 0);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.mapping[0].start, 0x55d0bfe00000);
	assert_int_equal(seen.mapping[0].end, 0x55d0bfe02000);
	assert_int_equal(seen.mapping[0].page, 4096);
	assert_int_equal(seen.mapping[1].page, 2 << 20);
	assert_int_equal(seen.mapping[2].page, 0);
}

static void test_flags(void **state)
{
	struct seen seen = { 0 };

	assert_int_equal(parse(&seen), 0);
	assert_false(seen.um[0] || seen.ht[0]);
	assert_true(seen.um[1] && seen.ht[1]);
	assert_false(seen.um[2] || seen.ht[2]);
}

static void test_visitor_ends_it(void **state)
{
	struct seen seen = { .stop = 2 };

	assert_int_equal(parse(&seen), -ECANCELED);
	assert_int_equal(seen.count, 2);
}

struct wanted {
	uint64_t addr;
	bool found;
};

static int find(void *context, const struct smaps_mapping *mapping)
{
	struct wanted *wanted = context;

	if (mapping->start > wanted->addr || mapping->end <= wanted->addr)
		return 0;
	assert_int_equal(mapping->page, sysconf(_SC_PAGESIZE));
	assert_true(smaps_has(mapping, "dc")); /* not copied by fork */
	wanted->found = true;
	return 0;
}

static void test_of_the_kernel(void **state)
{
	void *page =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct wanted wanted = { .addr = (uintptr_t)page };

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(madvise(page, 4096, MADV_DONTFORK), 0);
	assert_int_equal(smaps_each(getpid(), find, &wanted), 0);
	assert_true(wanted.found);
	munmap(page, 4096);
	assert_int_equal(smaps_each(0, find, &wanted), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_visitor_ends_it),
		cmocka_unit_test(test_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
