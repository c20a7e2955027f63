/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fuzz - what every fuzz target has
 *
 * A target is one function that takes any bytes.  libFuzzer calls it, or
 * main.c with the files of a corpus.  Crashing is how it says that it found
 * something.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* The name is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define expect(condition)                                                      \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, \
				#condition);                                   \
			abort();                                               \
		}                                                              \
	} while (0)

/* What is left of the input; zeros follow its end. */
struct input {
	const uint8_t *data;
	size_t size;
};

static inline void input_take(struct input *input, void *to, size_t size)
{
	size_t n = min_u64(size, input->size);

	memset(to, 0, size);
	if (n)
		memcpy(to, input->data, n);
	input->data += n;
	input->size -= n;
}

static inline uint8_t input_byte(struct input *input)
{
	uint8_t byte;

	input_take(input, &byte, 1);
	return byte;
}

static inline uint64_t input_word(struct input *input)
{
	uint64_t word;

	input_take(input, &word, 8);
	return word;
}

/*
 * The bytes up to the next NUL, in memory of its own, so that the sanitizers
 * see a read beyond its end.
 */
static inline char *input_text(struct input *input)
{
	size_t n = 0;
	char *text;

	while (n < input->size && input->data[n])
		n++;
	text = malloc(n + 1);
	expect(text);
	input_take(input, text, n);
	text[n] = '\0';
	input_byte(input);
	return text;
}
