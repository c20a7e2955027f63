/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "tracer/process/maps.h"

static int parse(const char *text, struct maps **ret)
{
	_cleanup_(fclosep) FILE *file =
		fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct error err = { 0 };
	int r;

	assert_non_null(file);
	r = maps_parse(file, ret, &err);
	assert_true((r < 0) == (err.text[0] != '\0'));
	return r;
}

static const char three[] =
	"55d0bfe00000-55d0bfe02000 r-xp 00001000 fe:01 1234    /usr/bin/a b\n"
	"55d0bfe02000-55d0bfe05000 rw-p 00000000 00:00 0 \n"
	"7f0000000000-7f0000001000 ---s 00000000 08:10 7   /x\\012y "
	"(deleted)\n";

static void test_fields(void **state)
{
	_cleanup_(maps_freep) struct maps *maps = NULL;
	const struct mapping *m;

	assert_int_equal(parse(three, &maps), 0);
	assert_int_equal(maps->count, 3);
	m = maps->mapping;
	assert_int_equal(m[0].start, 0x55d0bfe00000);
	assert_int_equal(m[0].end, 0x55d0bfe02000);
	assert_int_equal(m[0].offset, 0x1000);
	assert_int_equal(m[0].inode, 1234);
	assert_int_equal(m[0].device, makedev(0xfe, 1));
	assert_int_equal(m[0].prot, PROT_READ | PROT_EXEC);
	assert_false(m[0].shared);
	assert_string_equal(m[0].path, "/usr/bin/a b");
	assert_int_equal(m[1].prot, PROT_READ | PROT_WRITE);
	assert_string_equal(m[1].path, "");
	assert_int_equal(m[2].prot, PROT_NONE);
	assert_true(m[2].shared);
	assert_string_equal(m[2].path, "/x\ny (deleted)");
}

/* The kernel names one piece of a stack that lies in several. */
static void test_stack(void **state)
{
	static const char text[] =
		"1000-2000 rw-p 00000000 00:00 0 \n"
		"5000-6000 ---p 00000000 00:00 0 \n"
		"6000-7000 rw-p 00000000 00:00 0 \n"
		"7000-8000 ---p 00000000 00:00 0    [stack]\n"
		"8000-9000 rw-p 00000000 00:00 0 \n"
		"9000-a000 r--p 00000000 00:00 0    [vvar]\n";
	static const char *const path[] = { "",	       "[stack]", "[stack]",
					    "[stack]", "[stack]", "[vvar]" };
	_cleanup_(maps_freep) struct maps *maps = NULL, *none = NULL;

	assert_int_equal(parse(text, &maps), 0);
	for (size_t i = 0; i < ARRAY_SIZE(path); i++)
		assert_string_equal(maps->mapping[i].path, path[i]);
	assert_ptr_equal(maps_stack(maps), &maps->mapping[1]);
	assert_int_equal(parse(three, &none), 0);
	assert_null(maps_stack(none));
}

/* Of each, whether nobody changes its bytes. */
static void test_constant(void **state)
{
	static const char text[] =
		"10000-11000 r-xp 00000000 fe:01 1 /lib\n"
		"11000-12000 rw-p 00001000 fe:01 1 /lib\n"
		"12000-13000 r--p 00000000 00:00 0 \n"
		"13000-14000 r-xp 00000000 fe:01 2 /code\n"
		"14000-15000 ---s 00000000 fe:01 2 /code\n"
		"15000-16000 r-xp 00000000 fe:02 2 /other\n"
		"16000-17000 r-xp 00000000 00:01 3 /memfd:code (deleted)\n";
	static const bool constant[] = { true,	false, false, false,
					 false, true,  false };
	_cleanup_(maps_freep) struct maps *maps = NULL;

	assert_int_equal(parse(text, &maps), 0);
	assert_int_equal(maps->count, ARRAY_SIZE(constant));
	for (size_t i = 0; i < maps->count; i++)
		assert_int_equal(maps_constant(maps, &maps->mapping[i]),
				 constant[i]);
}

static void test_find(void **state)
{
	_cleanup_(maps_freep) struct maps *maps = NULL;
	static const struct {
		uint64_t addr;
		int find, above; /* index, -1: NULL */
	} cases[] = {
		{ 0, -1, 0 },
		{ 0x55d0bfdfffff, -1, 0 },
		{ 0x55d0bfe00000, 0, 0 },
		{ 0x55d0bfe01fff, 0, 0 },
		{ 0x55d0bfe02000, 1, 1 },
		{ 0x55d0bfe05000, -1, 2 },
		{ 0x7f0000000fff, 2, 2 },
		{ 0x7f0000001000, -1, -1 },
		{ UINT64_MAX, -1, -1 },
	};

	assert_int_equal(parse(three, &maps), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct mapping *find = maps_find(maps, cases[i].addr);
		const struct mapping *above = maps_above(maps, cases[i].addr);

		assert_int_equal(find ? find - maps->mapping : -1,
				 cases[i].find);
		assert_int_equal(above ? above - maps->mapping : -1,
				 cases[i].above);
	}
}

static void test_broken(void **state)
{
	static const char *const lines[] = {
		"nonsense\n",
		"\n",
		"1000-2000\n",
		"1000-2000 rwxp\n",
		"2000-1000 rw-p 00000000 00:00 0\n",
		"1000-1000 rw-p 00000000 00:00 0\n",
		"1001-2000 rw-p 00000000 00:00 0\n",
		"1000-2000 rwzp 00000000 00:00 0\n",
		"1000-2000 rw-q 00000000 00:00 0\n",
		"1000-2000 rw-p 0000000g 00:00 0\n",
		"1000-2000 rw-p 00000000 00:00 0x\n",
		"1000-2000 rw-p 00000000 00:00 f\n",
		"1000-10000000000000000000 rw-p 00000000 00:00 0\n",
		"1000-3000 rw-p 0 00:00 0\n2000-4000 rw-p 0 00:00 0\n",
		"2000-3000 rw-p 0 00:00 0\n1000-2000 rw-p 0 00:00 0\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct maps *maps = NULL;

		assert_int_equal(parse(lines[i], &maps), -EBADMSG);
		assert_null(maps);
	}
}

/* A zero byte must not hide the rest of a line. */
static void test_zero_byte(void **state)
{
	char text[] = "1000-2000 rw-p 00000000 00:00 0 /a?b\n";
	_cleanup_(fclosep) FILE *file = NULL;
	struct maps *maps = NULL;

	*strchr(text, '?') = '\0';
	file = fmemopen(text, sizeof(text) - 1, "r");
	assert_non_null(file);
	assert_int_equal(maps_parse(file, &maps, NULL), -EBADMSG);
	assert_null(maps);
}

static void test_self(void **state)
{
	_cleanup_(maps_freep) struct maps *maps = NULL;
	const struct mapping *m;

	assert_int_equal(maps_read(getpid(), &maps, NULL), 0);
	m = maps_find(maps, (uintptr_t)&test_self);
	assert_non_null(m);
	assert_true(m->prot & PROT_EXEC);
	assert_non_null(strstr(m->path, "test_maps"));
	m = maps_find(maps, (uintptr_t)&m);
	assert_non_null(m);
	assert_string_equal(m->path, "[stack]");
}

static void test_no_process(void **state)
{
	struct error err = { 0 };
	struct maps *maps = NULL;

	assert_int_equal(maps_read(0x7ffffff0, &maps, &err), -ESRCH);
	assert_non_null(strstr(err.text, "/proc/"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_constant),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_zero_byte),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
