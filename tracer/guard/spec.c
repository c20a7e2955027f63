/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tracer/guard/spec.h"
#include "tracer/process/spelling.h"

/* Longer texts are not repeated in full in a sentence. */
enum { TEXT_SHOWN = 80 };

/*
 * The kernel gives a program addresses above 47 bits only where it asks for
 * them (five-level paging), and nothing of ours asks.
 */
#define USER_END (UINT64_C(1) << 47)

/* An error's beginning: what is wrong with what. */
#define WATCH		"cannot watch '%.*s': "
#define WATCH_ARG(text) TEXT_SHOWN, (text)

static int spec_name(struct spec *spec, const char *name, struct error *err)
{
	size_t length = strlen(name);

	if (length >= sizeof(spec->name))
		return error_set(err, -EINVAL,
				 WATCH "the name has %zu bytes, and at most "
				       "%zu are accepted; a glob (class:Foo*) "
				       "can stand for a long class name",
				 WATCH_ARG(spec->text), length,
				 sizeof(spec->name) - 1);
	memcpy(spec->name, name, length + 1);
	return 0;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/*
 * Digits from *@text on, which moves behind them.  0, -EINVAL where there is
 * no digit, -ERANGE for more than 64 bits.
 */
static int digits_parse(const char **text, unsigned base, uint64_t *ret)
{
	const char *start = *text;
	uint64_t value = 0;
	int r = 0;

	for (; (unsigned)digit_value(**text) < base; (*text)++) {
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit_value(**text), &value))
			r = -ERANGE;
	}
	if (*text == start)
		return -EINVAL;
	*ret = value;
	return r;
}

static bool is_hex(const char *text)
{
	return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static int address_error(const struct spec *spec, struct error *err)
{
	return error_set(err, -EINVAL,
			 WATCH "it reaches beyond 0x%" PRIx64
			       ", where the addresses of a program end on "
			       "x86-64; /proc/PID/maps shows those in use",
			 WATCH_ARG(spec->text), USER_END - 1);
}

/* 0xADDR at *@text, which moves behind it. */
static int address_parse(const struct spec *spec, const char **text,
			 uint64_t *ret, struct error *err)
{
	int r;

	if (!is_hex(*text))
		return error_set(err, -EINVAL,
				 WATCH "an address is written in hexadecimal "
				       "with 0x before it, as in 0x7f001000+64 "
				       "or 0x7f001000..0x7f001040",
				 WATCH_ARG(spec->text));
	*text += 2;
	r = digits_parse(text, 16, ret);
	if (r == -EINVAL)
		return error_set(err, -EINVAL,
				 WATCH "no hexadecimal digit follows 0x; a "
				       "range is 0xADDR+LEN or 0xADDR..0xADDR",
				 WATCH_ARG(spec->text));
	if (r == -ERANGE)
		return address_error(spec, err);
	return 0;
}

/* The factor of a suffix at *@text, which moves behind it. */
static uint64_t suffix_parse(const char **text)
{
	static const struct {
		char name[2];
		unsigned shift;
	} suffixes[] = { { "Kk", 10 }, { "Mm", 20 }, { "Gg", 30 } };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (**text == suffixes[i].name[0] ||
		    **text == suffixes[i].name[1]) {
			(*text)++;
			return UINT64_C(1) << suffixes[i].shift;
		}
	}
	return 1;
}

static int length_parse(const struct spec *spec, const char *text,
			uint64_t *ret, struct error *err)
{
	unsigned base = is_hex(text) ? 16 : 10;
	int r;

	if (base == 16)
		text += 2;
	r = digits_parse(&text, base, ret);
	if (r != -EINVAL &&
	    __builtin_mul_overflow(*ret, suffix_parse(&text), ret))
		r = -ERANGE;
	if (r == -EINVAL || *text)
		return error_set(err, -EINVAL,
				 WATCH "the length after + is a number of "
				       "bytes, decimal or with 0x, and may "
				       "end in K, M or G",
				 WATCH_ARG(spec->text));
	if (r == -ERANGE)
		return address_error(spec, err);
	return 0;
}

static int range_check(const struct spec *spec, struct error *err)
{
	if (spec->end == spec->start)
		return error_set(err, -EINVAL,
				 WATCH "the range is empty; its end is the "
				       "first address that is not watched, so "
				       "one byte is 0x%" PRIx64 "+1",
				 WATCH_ARG(spec->text), spec->start);
	if (spec->end < spec->start)
		return error_set(err, -EINVAL,
				 WATCH "the end 0x%" PRIx64 " lies below the "
				       "start 0x%" PRIx64
				       "; write the lower address first",
				 WATCH_ARG(spec->text), spec->end, spec->start);
	if (spec->end > USER_END)
		return address_error(spec, err);
	return 0;
}

static int range_parse(struct spec *spec, struct error *err)
{
	const char *text = spec->text;
	uint64_t length;
	int r;

	spec->kind = SPEC_RANGE;
	r = address_parse(spec, &text, &spec->start, err);
	if (r < 0)
		return r;

	if (*text == '+') {
		r = length_parse(spec, text + 1, &length, err);
		if (r < 0)
			return r;
		if (__builtin_add_overflow(spec->start, length, &spec->end))
			return address_error(spec, err);
		return range_check(spec, err);
	}
	if (strncmp(text, "..", 2) == 0) {
		text += 2;
		r = address_parse(spec, &text, &spec->end, err);
		if (r < 0)
			return r;
		if (!*text)
			return range_check(spec, err);
	}
	if (!*text)
		return error_set(err, -EINVAL,
				 WATCH "it is not said how many bytes; write "
				       "%.*s+8 for eight from there on, or "
				       "0xADDR..0xADDR",
				 WATCH_ARG(spec->text), WATCH_ARG(spec->text));
	return error_set(err, -EINVAL,
			 WATCH "after the address stands '%.*s'; a range is "
			       "0xADDR+LEN or 0xADDR..0xADDR",
			 WATCH_ARG(spec->text), WATCH_ARG(text));
}

static int class_parse(struct spec *spec, const char *glob, struct error *err)
{
	_cleanup_(freep) char *plain = NULL;

	spec->kind = SPEC_CLASS;
	if (!*glob)
		return error_set(err, -EINVAL,
				 WATCH "no class follows; write class:Order, "
				       "class:'shop::*', or class:'*' for "
				       "every object",
				 WATCH_ARG(spec->text));
	if (!strchr(glob, '<'))
		return spec_name(spec, glob, err);
	plain = spelling_plain(glob);
	if (!plain)
		return error_set(err, -ENOMEM, "out of memory");
	return spec_name(spec, plain, err);
}

static const struct {
	const char *word;
	enum spec_map map;
} map_words[] = {
	{ "heap", SPEC_MAP_HEAP },   { "[heap]", SPEC_MAP_HEAP },
	{ "data", SPEC_MAP_DATA },   { "bss", SPEC_MAP_BSS },
	{ "stack", SPEC_MAP_STACK }, { "[stack]", SPEC_MAP_STACK },
	{ "anon", SPEC_MAP_ANON },
};

/*
 * The kernel's own names, [vdso] or [anon:name], are brackets to a glob, too:
 * they would match one character, and no mapping is named so.
 */
static bool is_kernel_name(const char *name)
{
	const char *close = strchr(name, ']');

	return name[0] == '[' && close && !close[1];
}

static int map_parse(struct spec *spec, const char *name, struct error *err)
{
	spec->kind = SPEC_MAP;
	for (size_t i = 0; i < ARRAY_SIZE(map_words); i++) {
		if (strcmp(name, map_words[i].word) == 0) {
			spec->map = map_words[i].map;
			return 0;
		}
	}
	spec->map = SPEC_MAP_PATH;
	if (!strpbrk(name, "/*?["))
		return error_set(err, -EINVAL,
				 WATCH "after map: stands heap, data, bss, "
				       "stack, anon, or a glob for the whole "
				       "path of a file, as in map:/usr/lib/* "
				       "or map:'*/libc.so.6'",
				 WATCH_ARG(spec->text));
	if (is_kernel_name(name)) {
		char escaped[sizeof(spec->name) + 1];
		int length = snprintf(escaped, sizeof(escaped), "\\%s", name);

		if ((size_t)length < sizeof(spec->name))
			return spec_name(spec, escaped, err);
	}
	return spec_name(spec, name, err);
}

static int block_parse(struct spec *spec, const char *size, struct error *err)
{
	return error_set(err, -EINVAL,
			 WATCH "heap blocks cannot be chosen by their size in "
			       "this version; map:heap watches all of them, "
			       "0xADDR+LEN one",
			 WATCH_ARG(spec->text));
}

/*
 * The ':' between LIB and SYMBOL, NULL if there is none.  One alone or the
 * first of three (a global ::name) separates; two belong to a C++ name, and
 * so does what follows a bracket: x[abi:cxx11], v<&a::b>, f(a:b).
 */
static const char *library_end(const char *text)
{
	for (size_t run; *text && !strchr("[<(", *text);
	     text += run ? run : 1) {
		run = strspn(text, ":");
		if (run == 1 || run == 3)
			return text;
	}
	return NULL;
}

static int library_parse(struct spec *spec, size_t length, struct error *err)
{
	if (length == 0 || memchr(spec->text, '/', length))
		return error_set(err, -EINVAL,
				 WATCH "before the ':' belongs the name of a "
				       "library without its directory, as in "
				       "libfoo.so:counter",
				 WATCH_ARG(spec->text));
	if (length >= sizeof(spec->library))
		return error_set(err, -EINVAL,
				 WATCH "the library's name has %zu bytes, and "
				       "at most %zu are accepted; its file's "
				       "name up to .so is enough",
				 WATCH_ARG(spec->text), length,
				 sizeof(spec->library) - 1);
	memcpy(spec->library, spec->text, length);
	return 0;
}

/*
 * A dot stays in the name: foo.0 and foo.lto_priv.0 are GCC's, main.counter
 * is Go's.  Only the symbol table knows whether it is a member instead.
 */
static int symbol_parse(struct spec *spec, struct error *err)
{
	const char *colon = library_end(spec->text);
	const char *name = colon ? colon + 1 : spec->text;
	int r;

	spec->kind = SPEC_SYMBOL;
	if (colon) {
		r = library_parse(spec, (size_t)(colon - spec->text), err);
		if (r < 0)
			return r;
	}
	if (!*name)
		return error_set(err, -EINVAL,
				 WATCH "no symbol follows the ':'; to watch a "
				       "whole file's mappings write "
				       "map:'*/%.*s*'",
				 WATCH_ARG(spec->text),
				 WATCH_ARG(spec->library));
	if (name[0] == '/')
		return error_set(err, -EINVAL,
				 WATCH "this is a path, not a symbol; the "
				       "mappings of a file are map:%.*s",
				 WATCH_ARG(spec->text), WATCH_ARG(name));
	return spec_name(spec, name, err);
}

int spec_parse(const char *text, struct spec *ret, struct error *err)
{
	static const struct {
		const char *prefix;
		int (*parse)(struct spec *spec, const char *rest,
			     struct error *err);
	} schemes[] = {
		{ "class:", class_parse },
		{ "map:", map_parse },
		{ "block:", block_parse },
	};

	*ret = (struct spec){ .text = text };
	if (!text || !*text)
		return error_set(err, -EINVAL,
				 "cannot watch '': nothing is named; write a "
				 "SYMBOL, LIB:SYMBOL, 0xADDR+LEN, "
				 "0xADDR..0xADDR, class:GLOB or map:heap");

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t length = strlen(schemes[i].prefix);

		/* map::x is a C++ name; class:::x has ::x for its glob. */
		if (strncmp(text, schemes[i].prefix, length) == 0 &&
		    strspn(text + length - 1, ":") != 2)
			return schemes[i].parse(ret, text + length, err);
	}
	if (text[0] >= '0' && text[0] <= '9')
		return range_parse(ret, err);
	return symbol_parse(ret, err);
}

bool spec_is_broad(const struct spec *spec)
{
	return spec->kind == SPEC_CLASS || spec->kind == SPEC_MAP;
}
