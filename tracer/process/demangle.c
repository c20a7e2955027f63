/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>
#undef ARRAY_SIZE /* libiberty has one, too */

#include "tracer/process/demangle.h"

enum { MAX_INPUT = 4096, MAX_OUTPUT = 16384 };

struct output {
	jmp_buf full;
	size_t size;
	char text[MAX_OUTPUT];
};

/*
 * Substitutions let a name of some hundred bytes grow to more than any memory
 * holds.  The callback interface cannot be told to stop, but it keeps nothing
 * outside the stack, so that jumping out of it loses nothing.
 */
static void append(const char *text, size_t size, void *opaque)
{
	struct output *output = opaque;

	if (size >= sizeof(output->text) - output->size)
		longjmp(output->full, 1);
	memcpy(output->text + output->size, text, size);
	output->size += size;
}

/*
 * A bare type is accepted only in forms that C identifiers do not have in
 * practice: "i" would be int, "a" signed char.
 */
static bool is_type(const char *name)
{
	size_t size = strlen(name);

	if (isdigit((unsigned char)name[0]))
		return true;
	if (name[0] == 'S')
		return name[1] == 't' && isdigit((unsigned char)name[2]);
	if (name[0] == 'N')
		return name[size - 1] == 'E' &&
		       (isdigit((unsigned char)name[1]) || name[1] == 'S');
	return name[0] == 'Z' && strchr("NLZ0123456789", name[1]) && name[1];
}

static char *run(const char *name, int options)
{
	_cleanup_(freep) struct output *output = malloc(sizeof(*output));
	int done;

	if (!output)
		return NULL;
	output->size = 0;
	if (_setjmp(output->full))
		return NULL;
	done = rust_demangle_callback(name, options, append, output);
	if (!done) {
		output->size = 0;
		done = cplus_demangle_v3_callback(name, options, append,
						  output);
	}
	if (!done || !output->size)
		return NULL;
	return strndup(output->text, output->size);
}

static char *with_options(const char *name, int options)
{
	if (strnlen(name, MAX_INPUT) == MAX_INPUT)
		return NULL;
	if (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2))
		return run(name, options);
	if (*name && is_type(name))
		return run(name, options | DMGL_TYPES);
	return NULL;
}

char *demangle(const char *name)
{
	return with_options(name, DMGL_ANSI | DMGL_PARAMS);
}

char *demangle_short(const char *name)
{
	return with_options(name, DMGL_ANSI);
}
