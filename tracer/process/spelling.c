/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "base/buffer.h"
#include "tracer/process/spelling.h"
#include "tracer/process/spelling_std.h"

enum { MAX_DEPTH = 64, MAX_NAME = 16384 };

struct parser {
	const char *at;
	struct buffer out;
	unsigned depth;
	bool failed;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

static bool skip(struct parser *p, const char *text)
{
	size_t size = strlen(text);

	if (strncmp(p->at, text, size) != 0)
		return false;
	p->at += size;
	return true;
}

/* "3ul" -> "3" */
static void number(struct parser *p)
{
	const char *start = p->at, *end;

	while (is_word(*p->at) || *p->at == '.')
		p->at++;
	end = p->at;
	while (end > start + 1 && strchr("uUlL", end[-1]))
		end--;
	buffer_append(&p->out, start, end - start);
}

/*
 * GCC's "long unsigned int" is "unsigned long": any order of these words.
 * false: none stands here.
 */
static bool integer(struct parser *p)
{
	static const char *const word[] = { "unsigned", "signed", "long",
					    "short",	"int",	  "char",
					    "double" };
	enum { UNSIGNED, SIGNED, LONG, SHORT, INT, CHAR, DOUBLE, WORDS };
	unsigned seen[WORDS] = { 0 }, total = 0;

	while (total < 5) {
		unsigned i = 0;
		size_t n = 0;

		for (; i < WORDS; i++) {
			n = strlen(word[i]);
			if (!strncmp(p->at, word[i], n) && !is_word(p->at[n]) &&
			    p->at[n] != ':')
				break;
		}
		if (i == WORDS)
			break;
		seen[i]++;
		total++;
		p->at += n;
		if (*p->at == ' ' && islower((unsigned char)p->at[1]))
			p->at++;
	}
	if (!total)
		return false;
	if (p->at[-1] == ' ')
		p->at--;
	if (seen[UNSIGNED])
		buffer_string(&p->out, "unsigned ");
	else if (seen[SIGNED] && seen[CHAR])
		buffer_string(&p->out, "signed ");
	for (unsigned i = 0; i < seen[LONG]; i++)
		buffer_string(&p->out, "long ");
	if (seen[SHORT])
		buffer_string(&p->out, "short ");
	if (seen[CHAR] || seen[DOUBLE])
		buffer_string(&p->out, seen[CHAR] ? "char " : "double ");
	if (!seen[LONG] && !seen[SHORT] && !seen[CHAR] && !seen[DOUBLE])
		buffer_string(&p->out, "int ");
	if (!p->out.failed)
		p->out.size--;
	return true;
}

static void sequence(struct parser *p, const char *stop);

/* "<" has been read: one argument after the other, into one string each. */
static void arguments(struct parser *p, size_t name)
{
	struct spelling_arguments list = { 0 };
	size_t start = p->out.size;

	do {
		size_t begin = p->out.size;

		while (skip(p, " "))
			continue;
		sequence(p, ",>");
		if (p->failed || list.count == SPELLING_ARGUMENTS) {
			p->failed = true;
			break;
		}
		buffer_char(&p->out, '\0');
		list.at[list.count++] = begin;
	} while (skip(p, ","));
	if (!skip(p, ">"))
		p->failed = true;
	if (p->failed || p->out.failed)
		return;
	spelling_shorten(&p->out, name, start, &list);
}

/* operator<, operator() and so on: what follows the word is no bracket. */
static void operator_name(struct parser *p)
{
	const char *start = p->at;

	if (!skip(p, "()"))
		while (*p->at && strchr("<>=-+*/%^&|~!,", *p->at))
			p->at++;
	buffer_append(&p->out, start, p->at - start);
}

/* GCC's "<lambda(int)>" in debug information: as the ABI writes it. */
static bool lambda(struct parser *p)
{
	if (!skip(p, "<lambda("))
		return false;
	buffer_string(&p->out, "{lambda(");
	sequence(p, ")");
	if (!skip(p, ")>"))
		p->failed = true;
	buffer_string(&p->out, ")}");
	return true;
}

/* A qualified name without arguments.  Where in the output it begins. */
static size_t qualified(struct parser *p, size_t begin)
{
	static const char *const inlined[] = { "__cxx11::", "__1::",
					       "__ndk1::" };
	bool joined = p->out.size > begin && *p->at == ':';
	size_t start = joined ? begin : p->out.size;

	while (is_word(*p->at) || (p->at[0] == ':' && p->at[1] == ':')) {
		const char *from = p->at;

		if (skip(p, "::")) {
			for (size_t i = 0; i < ARRAY_SIZE(inlined); i++)
				if (p->out.size - start == 3 &&
				    !strncmp(p->out.data + start, "std", 3) &&
				    skip(p, inlined[i]))
					break;
			buffer_string(&p->out, "::");
			lambda(p);
			continue;
		}
		while (is_word(*p->at))
			p->at++;
		buffer_append(&p->out, from, p->at - from);
		if (p->at - from == 8 && !strncmp(from, "operator", 8))
			operator_name(p);
	}
	return start;
}

static void bracket(struct parser *p, const char *close)
{
	buffer_char(&p->out, *p->at++);
	sequence(p, close);
	if (*p->at != *close) {
		p->failed = true;
		return;
	}
	buffer_char(&p->out, *p->at++);
}

/* "int const" becomes "const int". */
static void west(struct parser *p, size_t begin)
{
	static const char word[] = "const ";
	size_t size = sizeof(word) - 1;

	if (!buffer_room(&p->out, size))
		return;
	memmove(p->out.data + begin + size, p->out.data + begin,
		p->out.size - begin);
	memcpy(p->out.data + begin, word, size);
	p->out.size += size;
}

static bool is_const(const struct parser *p)
{
	return !strncmp(p->at, " const", 6) && !is_word(p->at[6]);
}

/* The spaces that separate words only. */
static void space(struct parser *p)
{
	while (*p->at == ' ')
		p->at++;
	if (p->out.size && is_word(p->out.data[p->out.size - 1]) &&
	    (is_word(*p->at) || strchr("({[", *p->at)) && *p->at)
		buffer_char(&p->out, ' ');
	else if (p->out.size && p->out.data[p->out.size - 1] == ',')
		buffer_char(&p->out, ' ');
	else if (p->out.size && is_word(*p->at) &&
		 strchr("*&>)", p->out.data[p->out.size - 1]))
		buffer_char(&p->out, ' ');
}

static void one(struct parser *p, size_t begin, size_t *name)
{
	char c = *p->at;

	if (c == ' ') {
		space(p);
	} else if (isdigit((unsigned char)c)) {
		number(p);
	} else if (is_word(c) || !strncmp(p->at, "::", 2)) {
		if (!integer(p))
			*name = qualified(p, *name);
	} else if (c == '<' && p->out.size > begin &&
		   is_word(p->out.data[p->out.size - 1])) {
		p->at++;
		arguments(p, *name);
	} else if (c == '(' || c == '[' || c == '{') {
		*name = p->out.size;
		bracket(p, c == '(' ? ")" : c == '[' ? "]" : "}");
	} else if (c == '-' && p->at[1] == '>') {
		buffer_string(&p->out, "->");
		p->at += 2;
	} else {
		buffer_char(&p->out, c);
		p->at++;
	}
}

/* Up to one of @stop, or the end. */
static void sequence(struct parser *p, const char *stop)
{
	size_t begin = p->out.size, name = begin;
	bool moved = !strncmp(p->at, "const ", 6);

	if (++p->depth > MAX_DEPTH)
		p->failed = true;
	while (*p->at && !strchr(stop, *p->at) && !p->failed &&
	       p->out.size < MAX_NAME && !p->out.failed) {
		if (p->out.size > begin && !moved && is_const(p)) {
			p->at += 6;
			west(p, begin);
			moved = true;
			continue;
		}
		if (*p->at == ',') {
			buffer_char(&p->out, *p->at++);
			space(p);
			begin = name = p->out.size;
			moved = !strncmp(p->at, "const ", 6);
			continue;
		}
		/* Only of what comes first: "char* const" stays. */
		moved |= *p->at == '*' || *p->at == '&' || *p->at == '(';
		one(p, begin, &name);
	}
	p->failed |= p->out.size >= MAX_NAME;
	p->depth--;
}

/* Bytes that no compiler has in a name */
static bool is_odd(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || strchr("\"\\%", *name))
			return true;
	return false;
}

char *spelling_plain(const char *name)
{
	struct parser p = { .at = name };
	char *plain;

	if (is_odd(name))
		return strdup(name);

	sequence(&p, "");
	buffer_char(&p.out, '\0');
	if (p.failed || p.out.failed || strchr(p.at, '>'))
		plain = strdup(name);
	else
		plain = strdup(p.out.data);
	buffer_done(&p.out);
	return plain;
}

size_t spelling_last(const char *name, size_t *length)
{
	size_t start = 0, depth = 0, end = 0;

	for (size_t i = 0; name[i]; i++) {
		if (strchr("<({[", name[i])) {
			if (!depth++ && name[i] == '<')
				end = i;
		} else if (strchr(">)}]", name[i])) {
			depth -= depth > 0;
		} else if (!depth && name[i] == ':' && name[i + 1] == ':') {
			start = i + 2;
			end = 0;
		}
	}
	*length = (end ? end : strlen(name)) - start;
	return start;
}
