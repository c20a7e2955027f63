/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * line - what all records have in common
 *
 * For the files of record.h only.
 */

#include <string.h>

#include "tracer/event/json.h"

static inline void line_open(struct json *json, struct buffer *out,
			     const char *type)
{
	*json = (struct json){ .out = out };
	json_open(json, NULL);
	json_word(json, "type", type);
}

static inline void line_close(struct json *json)
{
	json_close(json);
	buffer_char(json->out, '\n');
}

/* Absent rather than empty, too. */
static inline void line_text(struct json *json, const char *key,
			     const char *text)
{
	if (text && *text)
		json_string(json, key, text);
}

/* The same for a string of our own. */
static inline void line_word(struct json *json, const char *key,
			     const char *word)
{
	if (word && *word)
		json_word(json, key, word);
}

/* @strings is NULL-terminated; none at all gives an empty array. */
static inline void line_strings(struct json *json, const char *key,
				const char *const *strings)
{
	json_array(json, key);
	for (size_t i = 0; strings && strings[i]; i++)
		json_string(json, NULL, strings[i]);
	json_end(json);
}

/* Objects have a class; what is not an object has a name. */
static inline const char *line_name_key(const char *kind)
{
	return kind && strcmp(kind, "object") == 0 ? "class" : "name";
}
