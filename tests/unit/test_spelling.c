/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/macro.h"
#include "tracer/process/spelling.h"

#define STRING                                                                 \
	"std::__cxx11::basic_string<char, std::char_traits<char>, "            \
	"std::allocator<char> >"

static const struct {
	const char *name, *plain;
} cases[] = {
	{ "zoo::Lion", "zoo::Lion" },
	{ STRING, "std::string" },
	{ "std::__1::basic_string<char, std::__1::char_traits<char>, "
	  "std::__1::allocator<char> >",
	  "std::string" },
	{ "std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, "
	  "std::allocator<wchar_t> >",
	  "std::wstring" },
	{ "std::basic_string_view<char, std::char_traits<char> >",
	  "std::string_view" },
	{ "std::basic_ofstream<char, std::char_traits<char> >",
	  "std::ofstream" },
	{ "std::vector<int, std::allocator<int> >", "std::vector<int>" },
	{ "std::vector<int, Arena<int> >", "std::vector<int, Arena<int>>" },
	{ "std::map<" STRING ", Order, std::less<" STRING " >, "
	  "std::allocator<std::pair<" STRING " const, Order> > >",
	  "std::map<std::string, Order>" },
	{ "std::map<int, Order, std::greater<int>, "
	  "std::allocator<std::pair<const int, Order> > >",
	  "std::map<int, Order, std::greater<int>>" },
	{ "std::__1::unordered_map<int, char, std::__1::hash<int>, "
	  "std::__1::equal_to<int>, "
	  "std::__1::allocator<std::__1::pair<int const, char> > >",
	  "std::unordered_map<int, char>" },
	{ "std::set<std::unique_ptr<A, std::default_delete<A> >, "
	  "std::less<std::unique_ptr<A, std::default_delete<A> > >, "
	  "std::allocator<std::unique_ptr<A, std::default_delete<A> > > >",
	  "std::set<std::unique_ptr<A>>" },
	{ "std::stack<int, std::deque<int, std::allocator<int> > >",
	  "std::stack<int>" },
	/* GCC, Clang and the demangler */
	{ "Cage<std::pair<int, zoo::Lion *> >",
	  "Cage<std::pair<int, zoo::Lion*>>" },
	{ "T<long unsigned int, short int, unsigned, signed char>",
	  "T<unsigned long, short, unsigned int, signed char>" },
	{ "T<char const*, const char *, char* const, A const&>",
	  "T<const char*, const char*, char* const, const A&>" },
	{ "T<3ul, 4, (Color)1>", "T<3, 4, (Color)1>" },
	{ "std::function<void (int, char const*)>",
	  "std::function<void (int, const char*)>" },
	{ "Task<names()::<lambda(int)> >", "Task<names()::{lambda(int)}>" },
	{ "main::{lambda(int, char)#1}", "main::{lambda(int, char)#1}" },
	{ "(anonymous namespace)::Hidden", "(anonymous namespace)::Hidden" },
	{ "std::__cxx11::list<int, std::allocator<int> >::_Node",
	  "std::list<int>::_Node" },
	/* No names of types, or broken ones */
	{ "a::operator<", "a::operator<" },
	{ "broken<int", "broken<int" },
	{ "broken<int>>", "broken<int>>" },
	{ "zoo::Cage<*>", "zoo::Cage<*>" },
	{ "mine::std::__1x", "mine::std::__1x" },
	{ "odd\n <x >\\", "odd\n <x >\\" },
	{ "", "" },
};

static void test_plain(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(freep) char *plain = spelling_plain(cases[i].name);
		_cleanup_(freep) char *again = spelling_plain(cases[i].plain);

		assert_string_equal(plain, cases[i].plain);
		assert_string_equal(again, cases[i].plain);
	}
}

/* Deeper than any is taken apart, and longer. */
static void test_bounds(void **state)
{
	char deep[4000] = "", *long_one = malloc(40001);
	_cleanup_(freep) char *plain = NULL, *same = NULL;

	assert_non_null(long_one);
	for (int i = 0; i < 1000; i++)
		strcat(deep, "T<");
	strcat(deep, "int");
	for (int i = 0; i < 990; i++)
		strcat(deep, ">");
	plain = spelling_plain(deep);
	assert_string_equal(plain, deep);
	memset(long_one, 'x', 40000);
	long_one[40000] = '\0';
	same = spelling_plain(long_one);
	assert_string_equal(same, long_one);
	free(long_one);
}

static void test_last(void **state)
{
	static const struct {
		const char *name, *last;
	} last[] = {
		{ "zoo::Cage<a::b, 3>", "Cage" },
		{ "names()::Local", "Local" },
		{ "(anonymous namespace)::Hidden", "Hidden" },
		{ "a<b>::c<d<e>>", "c" },
		{ "x", "x" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
		size_t length, start = spelling_last(last[i].name, &length);

		assert_int_equal(length, strlen(last[i].last));
		assert_memory_equal(last[i].name + start, last[i].last, length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
