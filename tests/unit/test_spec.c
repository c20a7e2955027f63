/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tracer/guard/spec.h"

static void test_ranges(void **state)
{
	static const struct {
		const char *text;
		uint64_t start, end;
	} cases[] = {
		{ "0x10+1", 0x10, 0x11 },
		{ "0x1000+64", 0x1000, 0x1040 },
		{ "0x1000+0x40", 0x1000, 0x1040 },
		{ "0x1000+0X4k", 0x1000, 0x2000 },
		{ "0x1000+4K", 0x1000, 0x2000 },
		{ "0x1000+2M", 0x1000, 0x201000 },
		{ "0x1000+3G", 0x1000, 0xc0001000 },
		{ "0XAbC..0xabD", 0xabc, 0xabd },
		{ "0x0..0x800000000000", 0, UINT64_C(0x800000000000) },
		{ "0x7fffffffffff+1", UINT64_C(0x7fffffffffff),
		  UINT64_C(0x800000000000) },
		{ "0x00000000000000000001000+010", 0x1000, 0x100a },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		struct spec spec;

		assert_int_equal(spec_parse(cases[i].text, &spec, &err), 0);
		assert_int_equal(spec.kind, SPEC_RANGE);
		assert_ptr_equal(spec.text, cases[i].text);
		assert_int_equal(spec.start, cases[i].start);
		assert_int_equal(spec.end, cases[i].end);
		assert_false(spec_is_broad(&spec));
		assert_int_equal(err.number, 0);
	}
}

static void test_symbols(void **state)
{
	static const struct {
		const char *text, *library, *name;
	} cases[] = {
		{ "counter", "", "counter" },
		{ "libfoo.so.1:counter", "libfoo.so.1", "counter" },
		{ "shop::orders", "", "shop::orders" },
		{ "libshop.so:shop::orders", "libshop.so", "shop::orders" },
		{ "libshop.so:::orders", "libshop.so", "::orders" },
		{ "::orders", "", "::orders" },
		{ "a::b::c", "", "a::b::c" },
		{ "map::tiles", "", "map::tiles" },
		{ "class::x", "", "class::x" },
		{ "name[abi:cxx11]", "", "name[abi:cxx11]" },
		{ "lib:name[abi:cxx11]", "lib", "name[abi:cxx11]" },
		{ "v<a:b>", "", "v<a:b>" },
		{ "v<char[3]>", "", "v<char[3]>" },
		{ "f(int)::calls", "", "f(int)::calls" },
		{ "foo.0", "", "foo.0" },
		{ "foo.lto_priv.0", "", "foo.lto_priv.0" },
		{ "main.counter", "", "main.counter" },
		{ "config.limit", "", "config.limit" },
		{ "limits[3]", "", "limits[3]" },
		{ "lib:config.limits[3]", "lib", "config.limits[3]" },
		{ "_ZN4shop6ordersE", "", "_ZN4shop6ordersE" },
		{ "heap", "", "heap" },
		{ "mapper", "", "mapper" },
		{ "\xff\xfe", "", "\xff\xfe" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct spec spec;

		assert_int_equal(spec_parse(cases[i].text, &spec, NULL), 0);
		assert_int_equal(spec.kind, SPEC_SYMBOL);
		assert_string_equal(spec.library, cases[i].library);
		assert_string_equal(spec.name, cases[i].name);
		assert_false(spec_is_broad(&spec));
	}
}

static void test_maps_and_classes(void **state)
{
	static const struct {
		const char *text;
		enum spec_kind kind;
		enum spec_map map;
		const char *name;
	} cases[] = {
		{ "map:heap", SPEC_MAP, SPEC_MAP_HEAP, "" },
		{ "map:[heap]", SPEC_MAP, SPEC_MAP_HEAP, "" },
		{ "map:data", SPEC_MAP, SPEC_MAP_DATA, "" },
		{ "map:bss", SPEC_MAP, SPEC_MAP_BSS, "" },
		{ "map:stack", SPEC_MAP, SPEC_MAP_STACK, "" },
		{ "map:[stack]", SPEC_MAP, SPEC_MAP_STACK, "" },
		{ "map:anon", SPEC_MAP, SPEC_MAP_ANON, "" },
		{ "map:/dev/shm/x", SPEC_MAP, SPEC_MAP_PATH, "/dev/shm/x" },
		{ "map:*", SPEC_MAP, SPEC_MAP_PATH, "*" },
		{ "map:lib?", SPEC_MAP, SPEC_MAP_PATH, "lib?" },
		{ "map:[ab]c", SPEC_MAP, SPEC_MAP_PATH, "[ab]c" },
		{ "map:[a][b]", SPEC_MAP, SPEC_MAP_PATH, "[a][b]" },
		{ "map:[anon:x]", SPEC_MAP, SPEC_MAP_PATH, "\\[anon:x]" },
		{ "class:Order", SPEC_CLASS, 0, "Order" },
		{ "class:shop::*", SPEC_CLASS, 0, "shop::*" },
		{ "class:::Order", SPEC_CLASS, 0, "::Order" },
		{ "class:Order.state", SPEC_CLASS, 0, "Order.state" },
		{ "class:map:x", SPEC_CLASS, 0, "map:x" },
		{ "class:Cage<std::pair<int, A *> >", SPEC_CLASS, 0,
		  "Cage<std::pair<int, A*>>" },
		{ "class:Cage<*", SPEC_CLASS, 0, "Cage<*" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct spec spec;

		assert_int_equal(spec_parse(cases[i].text, &spec, NULL), 0);
		assert_int_equal(spec.kind, cases[i].kind);
		assert_int_equal(spec.map, cases[i].map);
		assert_string_equal(spec.name, cases[i].name);
		assert_true(spec_is_broad(&spec));
	}
}

/* What is wrong is said with the user's text, and so is what helps. */
static const struct {
	const char *text, *says, *helps;
} refused[] = {
	{ "", "nothing is named", "class:GLOB" },
	{ "0x10+0", "empty", "0x10+1" },
	{ "0x10..0x10", "empty", "0x10+1" },
	{ "0x20..0x10", "end 0x10 lies below the start 0x20",
	  "lower address first" },
	{ "0x10", "how many bytes", "write 0x10+8" },
	{ "0x10-0x20", "stands '-0x20'", "0xADDR..0xADDR" },
	{ "0x10..0x20x", "stands 'x'", "0xADDR..0xADDR" },
	{ "0x10...0x20", "with 0x before it", "0x7f001000" },
	{ "0x10..20", "with 0x before it", "0x7f001000" },
	{ "0x10..", "with 0x before it", "0x7f001000" },
	{ "1000+4", "with 0x before it", "0x7f001000" },
	{ "0x+4", "no hexadecimal digit", "0xADDR+LEN" },
	{ "0x10+", "length after +", "K, M or G" },
	{ "0x10+-4", "length after +", "K, M or G" },
	{ "0x10+0x", "length after +", "K, M or G" },
	{ "0x10+4T", "length after +", "K, M or G" },
	{ "0x10+4KB", "length after +", "K, M or G" },
	{ "0x800000000000+1", "beyond 0x7fffffffffff", "/maps" },
	{ "0x7fffffffffff+2", "beyond 0x7fffffffffff", "/maps" },
	{ "0xffff800000000000+8", "beyond 0x7fff", "/maps" },
	{ "0xffffffffffffffff+1", "beyond 0x7fff", "/maps" },
	{ "0x10+0xffffffffffffffff", "beyond 0x7fff", "/maps" },
	{ "0x10+18446744073709551616", "beyond 0x7fff", "/maps" },
	{ "0x10+17179869184G", "beyond 0x7fff", "/maps" },
	{ "0x10000000000000000+8", "beyond 0x7fff", "/maps" },
	{ "map:", "heap, data, bss, stack, anon", "map:/usr/lib/*" },
	{ "map:heaps", "heap, data, bss, stack, anon", "map:/usr" },
	{ "class:", "no class follows", "class:Order" },
	{ "block:64", "not be chosen by their size", "map:heap" },
	{ "block:", "not be chosen by their size", "map:heap" },
	{ ":counter", "name of a library", "libfoo.so:counter" },
	{ "/lib/x.so:counter", "without its directory", "libfoo.so" },
	{ "libfoo.so:", "no symbol follows", "map:'*/libfoo.so*'" },
	{ "/lib/x.so", "a path, not a symbol", "map:/lib/x.so" },
};

static void test_sentences(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct error err = { 0 };
		struct spec spec;
		char quoted[64];

		assert_int_equal(spec_parse(refused[i].text, &spec, &err),
				 -EINVAL);
		assert_int_equal(err.number, -EINVAL);
		snprintf(quoted, sizeof(quoted),
			 "cannot watch '%s': ", refused[i].text);
		if (!strstr(err.text, quoted) ||
		    !strstr(err.text, refused[i].says) ||
		    !strstr(err.text, refused[i].helps))
			fail_msg("'%s' is answered: %s", refused[i].text,
				 err.text);
		assert_int_equal(spec_parse(refused[i].text, &spec, NULL),
				 -EINVAL);
	}
	assert_int_equal(spec_parse(NULL, &(struct spec){ 0 }, NULL), -EINVAL);
}

static void test_longest_names(void **state)
{
	static const struct {
		const char *prefix;
		size_t limit; /* bytes behind the prefix */
		const char *behind;
	} cases[] = {
		{ "", 1023, "" },	 { "class:", 1023, "" },
		{ "map:/", 1022, "" },	 { "lib:", 1023, "" },
		{ "", 255, ":counter" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t more = 0; more < 2; more++) {
			struct error err = { 0 };
			char text[2048], name[1026] = "";
			struct spec spec;

			memset(name, 'n', cases[i].limit + more);
			snprintf(text, sizeof(text), "%s%s%s", cases[i].prefix,
				 name, cases[i].behind);
			assert_int_equal(spec_parse(text, &spec, &err),
					 more ? -EINVAL : 0);
			assert_int_equal(!!strstr(err.text, "at most"), more);
		}
	}
}

/* "[" + 1021 + "]" would fit, but not with the '\' before it. */
static void test_longest_kernel_name(void **state)
{
	char text[1100] = "map:[";
	struct spec spec;

	memset(text + 5, 'x', 1021);
	strcat(text, "]");
	assert_int_equal(spec_parse(text, &spec, NULL), 0);
	assert_int_equal(strlen(spec.name), 1023);
}

/* Any bytes: an answer, and with -EINVAL always a sentence. */
static void test_random_bytes(void **state)
{
	static const char alphabet[] = "0123456789abcdefxXKMG+.:[]*/?mapclsh_";
	unsigned seed = 1;

	for (int i = 0; i < 200000; i++) {
		struct error err = { 0 };
		struct spec spec;
		char text[24];
		size_t size = (size_t)rand_r(&seed) % sizeof(text);
		int r;

		for (size_t k = 0; k < size; k++)
			text[k] = alphabet[(size_t)rand_r(&seed) %
					   (sizeof(alphabet) - 1)];
		text[size] = '\0';
		r = spec_parse(text, &spec, &err);
		assert_true(r == 0 || r == -EINVAL);
		assert_int_equal(r, err.number);
		assert_int_equal(r == 0, err.text[0] == '\0');
		if (r == 0 && spec.kind == SPEC_RANGE)
			assert_true(spec.start < spec.end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_maps_and_classes),
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_longest_names),
		cmocka_unit_test(test_longest_kernel_name),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
