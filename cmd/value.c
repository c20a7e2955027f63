/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "cmd/value.h"

int value_count(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	char *end;
	unsigned long long value;

	/* strtoull() takes white space and a sign, too */
	if (!*text || text[strspn(text, "0123456789")])
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

/* A decimal number at the start of @text: neither hex, exponent nor "inf". */
static int decimal(const char *text, double *ret, const char **rest)
{
	size_t whole = strspn(text, "0123456789");
	size_t digits = whole, length = whole;
	char number[64];

	if (text[length] == '.') {
		length++;
		digits += strspn(text + length, "0123456789");
		length += strspn(text + length, "0123456789");
	}
	if (!digits)
		return -EINVAL;
	if (length >= sizeof(number))
		return -ERANGE;
	memcpy(number, text, length);
	number[length] = '\0';
	*ret = strtod(number, NULL);
	*rest = text + length;
	return 0;
}

int value_positive(const char *text, double max, double *ret)
{
	const char *rest;
	double value;
	int r;

	r = decimal(text, &value, &rest);
	if (r < 0)
		return r;
	if (*rest)
		return -EINVAL;
	if (!(value > 0 && value <= max))
		return -ERANGE;
	*ret = value;
	return 0;
}

int value_duration(const char *text, double *ret)
{
	static const struct {
		const char *suffix;
		double seconds;
	} units[] = {
		{ "", 1 },   { "ms", 0.001 }, { "s", 1 },
		{ "m", 60 }, { "h", 3600 },
	};
	/* thirty years: more does not fit a timer's nanoseconds for sure */
	const double longest = 1e9;
	const char *rest;
	double value;
	int r;

	r = decimal(text, &value, &rest);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(rest, units[i].suffix))
			continue;
		value *= units[i].seconds;
		if (!(value > 0 && value <= longest))
			return -ERANGE;
		*ret = value;
		return 0;
	}
	return -EINVAL;
}

/* @text stands after "%q"; returns what follows the brace, or NULL. */
static const char *environment(const char *text, struct buffer *out,
			       struct error *err)
{
	const char *end = *text == '{' ? strchr(text, '}') : NULL;
	_cleanup_(freep) char *name = NULL;
	const char *value;

	if (!end || end == text + 1) {
		error_set(err, -EINVAL,
			  "-o: %%q needs the name of an environment variable "
			  "in braces, as in %%q{USER}");
		return NULL;
	}
	name = strndup(text + 1, (size_t)(end - text - 1));
	if (!name) {
		error_set(err, -ENOMEM, "-o: out of memory");
		return NULL;
	}
	value = getenv(name);
	if (!value) {
		error_set(err, -EINVAL,
			  "-o: the environment variable %s of %%q{%s} is not "
			  "set: set it, or name the file without it",
			  name, name);
		return NULL;
	}
	for (; *value; value++) {
		if (*value == '%')
			buffer_char(out, '%');
		buffer_char(out, *value);
	}
	return end + 1;
}

static const char *expand_one(const char *text, struct buffer *out,
			      struct error *err)
{
	switch (*text) {
	case '%':
	case 'p':
		buffer_char(out, '%');
		buffer_char(out, *text);
		return text + 1;
	case 'q':
		return environment(text + 1, out, err);
	case '\0':
		error_set(err, -EINVAL,
			  "-o: the name ends in a single %%: write %%%% for a "
			  "percent sign");
		return NULL;
	default:
		error_set(err, -EINVAL,
			  "-o: %%%c means nothing: %%p is the number of the "
			  "process, %%q{VAR} an environment variable, %%%% a "
			  "percent sign",
			  *text);
		return NULL;
	}
}

int value_output(const char *text, char **ret, struct error *err)
{
	struct buffer out = { 0 };

	while (*text) {
		if (*text != '%') {
			buffer_char(&out, *text++);
			continue;
		}
		text = expand_one(text + 1, &out, err);
		if (!text) {
			buffer_done(&out);
			return -EINVAL;
		}
	}
	buffer_char(&out, '\0');
	if (out.failed) {
		buffer_done(&out);
		return error_set(err, -ENOMEM, "-o: out of memory");
	}
	if (!*out.data) {
		buffer_done(&out);
		return error_set(err, -EINVAL,
				 "-o: the file name is empty: leave -o out to "
				 "have the log on standard output");
	}
	*ret = out.data;
	return 0;
}
