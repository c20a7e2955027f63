/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/spelling_std.h"

enum { MOST = 5 };

/* $0 and $1 stand for the first two arguments. */
static const char one_allocator[] = "std::allocator<$0>";
static const char pair_allocator[] = "std::allocator<std::pair<const $0, $1>>";

/* What each argument is if nobody says otherwise. */
static const struct {
	const char *name;
	const char *value[MOST];
} defaults[] = {
	{ "vector", { NULL, one_allocator } },
	{ "deque", { NULL, one_allocator } },
	{ "list", { NULL, one_allocator } },
	{ "forward_list", { NULL, one_allocator } },
	{ "set", { NULL, "std::less<$0>", one_allocator } },
	{ "multiset", { NULL, "std::less<$0>", one_allocator } },
	{ "map", { NULL, NULL, "std::less<$0>", pair_allocator } },
	{ "multimap", { NULL, NULL, "std::less<$0>", pair_allocator } },
	{ "unordered_set",
	  { NULL, "std::hash<$0>", "std::equal_to<$0>", one_allocator } },
	{ "unordered_multiset",
	  { NULL, "std::hash<$0>", "std::equal_to<$0>", one_allocator } },
	{ "unordered_map",
	  { NULL, NULL, "std::hash<$0>", "std::equal_to<$0>",
	    pair_allocator } },
	{ "unordered_multimap",
	  { NULL, NULL, "std::hash<$0>", "std::equal_to<$0>",
	    pair_allocator } },
	{ "unique_ptr", { NULL, "std::default_delete<$0>" } },
	{ "queue", { NULL, "std::deque<$0>" } },
	{ "stack", { NULL, "std::deque<$0>" } },
	{ "priority_queue", { NULL, "std::vector<$0>", "std::less<$0>" } },
	{ "basic_regex", { NULL, "std::regex_traits<$0>" } },
	{ "basic_string", { NULL, "std::char_traits<$0>", one_allocator } },
	{ "basic_stringbuf", { NULL, "std::char_traits<$0>", one_allocator } },
	{ "basic_stringstream",
	  { NULL, "std::char_traits<$0>", one_allocator } },
	{ "basic_istringstream",
	  { NULL, "std::char_traits<$0>", one_allocator } },
	{ "basic_ostringstream",
	  { NULL, "std::char_traits<$0>", one_allocator } },
	/* any other basic_: ostream, ifstream, streambuf, string_view ... */
	{ "basic_", { NULL, "std::char_traits<$0>" } },
};

/* Is @text what @pattern says with these arguments? */
static bool is_pattern(const char *text, const char *pattern,
		       const char *const argument[2])
{
	while (*pattern) {
		const char *word = NULL;
		size_t size = 1;

		if (*pattern == '$') {
			word = argument[pattern[1] - '0'];
			size = strlen(word);
		}
		if (strncmp(text, word ? word : pattern, size) != 0)
			return false;
		text += size;
		pattern += word ? 2 : 1;
	}
	return !*text;
}

static const char *const *defaults_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		size_t size = strlen(defaults[i].name);

		if (!strcmp(name, defaults[i].name) ||
		    (defaults[i].name[size - 1] == '_' &&
		     !strncmp(name, defaults[i].name, size)))
			return defaults[i].value;
	}
	return NULL;
}

/* std::basic_string<char> is std::string, with wchar_t std::wstring. */
static const char *character(const char *argument)
{
	static const struct {
		const char *type, *prefix;
	} known[] = {
		{ "char", "" },	       { "wchar_t", "w" },
		{ "char8_t", "u8" },   { "char16_t", "u16" },
		{ "char32_t", "u32" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(argument, known[i].type))
			return known[i].prefix;
	return NULL;
}

static unsigned without_defaults(const char *name, const char *const argument[],
				 unsigned count)
{
	const char *const *value = defaults_of(name);

	if (!value || count > MOST)
		return count;
	while (count > 1 && value[count - 1] &&
	       is_pattern(argument[count - 1], value[count - 1],
			  (const char *const[]){ argument[0], argument[1] }))
		count--;
	return count;
}

void spelling_shorten(struct buffer *out, size_t name, size_t start,
		      const struct spelling_arguments *list)
{
	static const char space[] = "std::", basic[] = "basic_";
	const char *argument[SPELLING_ARGUMENTS];
	_cleanup_(freep) char *old = NULL, *text = NULL;
	unsigned count = list->count;
	const char *prefix;

	old = malloc(out->size - start + 1);
	text = strndup(out->data + name, start - name);
	if (!old || !text) {
		out->failed = true;
		return;
	}
	memcpy(old, out->data + start, out->size - start);
	for (unsigned i = 0; i < count; i++)
		argument[i] = old + (list->at[i] - start);
	out->size = start;
	if (!strncmp(text, space, sizeof(space) - 1)) {
		const char *last = text + sizeof(space) - 1;

		count = without_defaults(last, argument, count);
		prefix = count == 1 ? character(argument[0]) : NULL;
		if (prefix && !strncmp(last, basic, sizeof(basic) - 1)) {
			out->size = name;
			buffer_format(out, "std::%s%s", prefix,
				      last + sizeof(basic) - 1);
			return;
		}
	}
	buffer_char(out, '<');
	for (unsigned i = 0; i < count; i++)
		buffer_format(out, "%s%s", i ? ", " : "", argument[i]);
	buffer_char(out, '>');
}
