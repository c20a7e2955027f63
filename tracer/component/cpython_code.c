/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/cpython.h"

enum {
	CODE_WORDS = 18,     /* what tells a code object from others */
	MAX_LINES = 1 << 20, /* bytes of a table of lines */
	BYTES_TEXT = 32,     /* where bytes begin */
	PIECE = 256,
};

static void free_code(struct py_code *code)
{
	free(code->function);
	free(code->file);
	free(code);
}

void py_codes_forget(struct cpython *py)
{
	table_for_each(&py->codes, s) free_code(s->value);
	table_done(&py->codes);
	table_done(&py->lines);
}

/*
 * A code object may be freed, and another one lie in its place.  What changes
 * while one lives is left out: references, from 3.11 on how warm it is, and
 * until then the frame that is kept for it.
 */
static uint64_t print_of(const struct cpython *py,
			 const uint64_t word[CODE_WORDS])
{
	uint64_t kept[CODE_WORDS];

	memcpy(kept, word, sizeof(kept));
	kept[0] = 0;
	if (py->layout.minor >= 11)
		kept[6] = 0;
	else
		kept[16] = kept[17] = 0;
	return table_hash(kept, sizeof(kept));
}

/* Of text without a file another one may have all of that, and other lines. */
static uint64_t print_of_lines(const struct cpython *py,
			       const struct py_code *code)
{
	uint8_t bytes[PIECE];
	uint64_t size = min_u64(code->lines_size, PIECE);

	if (!py_read(py, code->lines_addr, bytes, size))
		return 0;
	return table_hash(bytes, size);
}

static bool find_lines(const struct cpython *py, uint64_t addr,
		       struct py_code *code)
{
	uint64_t lines, size;

	if (!py_word(py, addr + py->layout.co_lines, &lines) ||
	    !py_word(py, lines + 16, &size) || size > MAX_LINES)
		return false;
	code->lines_addr = lines + BYTES_TEXT;
	code->lines_size = size;
	return true;
}

static bool read_code(const struct cpython *py, uint64_t addr,
		      struct py_code *code)
{
	char function[PY_NAME], file[PAGE];
	uint64_t name, path, start;
	uint32_t line;

	if (!py_word(py, addr + py->layout.co_name, &name) ||
	    !py_word(py, addr + py->layout.co_filename, &path) ||
	    !py_read(py, addr + py->layout.co_first_line, &line, 4) ||
	    !py_str(py, name, function, sizeof(function)) ||
	    !py_str(py, path, file, sizeof(file)) ||
	    !find_lines(py, addr, code))
		return false;
	start = addr + py->layout.co_code;
	if (py->layout.minor < 11)
		start = 0; /* frames tell the offset itself */
	code->start = start;
	code->first_line = line;
	code->volatile_lines = file[0] == '<';
	code->function = strdup(function);
	code->file = strdup(file);
	return code->function && code->file;
}

static struct py_code *new_code(struct cpython *py, uint64_t addr,
				uint64_t print)
{
	struct py_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	if (py->codes.count >= PY_CODES)
		py_codes_forget(py);
	code->serial = ++py->serial;
	code->print = print;
	if (read_code(py, addr, code)) {
		if (code->volatile_lines)
			code->print ^= print_of_lines(py, code);
		if (table_put(&py->codes, addr, code) == 0)
			return code;
	}
	free_code(code);
	return NULL;
}

const struct py_code *py_code_at(struct cpython *py, uint64_t addr)
{
	struct py_code *code = table_get(&py->codes, addr);
	uint64_t word[CODE_WORDS], print;

	if (!addr || addr % 8 || !py_words(py, addr, word, CODE_WORDS) ||
	    word[1] != py->code_type)
		return NULL;
	print = print_of(py, word);
	if (code && code->volatile_lines &&
	    code->print == (print ^ print_of_lines(py, code)))
		return code;
	if (code && !code->volatile_lines && code->print == print)
		return code;
	if (code) {
		table_remove(&py->codes, addr);
		free_code(code);
	}
	return new_code(py, addr, print);
}

/* A table of lines, byte by byte. */
struct reader {
	const struct cpython *py;
	uint64_t addr, left;
	uint8_t piece[PIECE];
	size_t at, size;
};

/* -1: the end. */
static int next_byte(struct reader *reader)
{
	if (reader->at == reader->size) {
		reader->size = min_u64(reader->left, PIECE);
		reader->at = 0;
		if (!reader->size || !py_read(reader->py, reader->addr,
					      reader->piece, reader->size))
			return -1;
		reader->addr += reader->size;
		reader->left -= reader->size;
	}
	return reader->piece[reader->at++];
}

/* Objects/lnotab_notes.txt of 3.9: pairs of steps, of bytes and lines. */
static unsigned line_9(struct reader *reader, int64_t offset, int64_t line)
{
	int64_t at = 0;

	for (;;) {
		int step = next_byte(reader), lines = next_byte(reader);

		if (lines < 0)
			break;
		at += step;
		if (at > offset)
			break;
		line += (int8_t)lines;
	}
	return line > 0 ? (unsigned)line : 0;
}

/* The same of 3.10: the bytes come after the line; -128: of none. */
static unsigned line_10(struct reader *reader, int64_t offset, int64_t line)
{
	int64_t end = 0;
	bool none = false;

	if (offset < 0)
		return (unsigned)line;
	while (end <= offset) {
		int step = next_byte(reader), lines = next_byte(reader);

		if (lines < 0)
			return 0;
		end += step;
		none = (int8_t)lines == -128;
		line += none ? 0 : (int8_t)lines;
	}
	return none || line < 0 ? 0 : (unsigned)line;
}

/* A signed number of 6 bits a byte, its sign in the lowest. */
static int64_t read_signed(struct reader *reader, int *ended)
{
	uint64_t value = 0;
	unsigned shift = 0;
	int c;

	do {
		c = next_byte(reader);
		if (c < 0 || shift > 36) {
			*ended = -1;
			return 0;
		}
		value |= (uint64_t)(c & 0x3f) << shift;
		shift += 6;
	} while (c & 0x40);
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Objects/locations.md of 3.11 and later; every entry's first byte has bit 7.
 */
static unsigned line_11(struct reader *reader, int64_t offset, int64_t line)
{
	int64_t end = 0;
	int c = next_byte(reader), ended = 0;

	while (c >= 0) {
		unsigned code = c >> 3 & 15;

		end += ((c & 7) + 1) * 2;
		if (code == 14 || code == 13)
			line += read_signed(reader, &ended);
		else if (code >= 10 && code <= 12)
			line += code - 10;
		if (ended < 0)
			return 0;
		if (end > offset)
			return code == 15 || line < 0 ? 0 : (unsigned)line;
		do
			c = next_byte(reader);
		while (c >= 0 && !(c & 0x80));
	}
	return 0;
}

unsigned py_line(struct cpython *py, const struct py_code *code, int64_t offset)
{
	uint64_t key = (uint64_t)code->serial << 32 | (uint32_t)offset;
	uint64_t known = (uint64_t)(uintptr_t)table_get(&py->lines, key);
	struct reader reader = { .py = py,
				 .addr = code->lines_addr,
				 .left = code->lines_size };
	int64_t first = code->first_line;
	unsigned line;

	if (known)
		return (unsigned)(known - 1);
	if (py->layout.minor == 9)
		line = line_9(&reader, offset, first);
	else if (py->layout.minor == 10)
		line = line_10(&reader, offset, first);
	else
		line = line_11(&reader, offset, first);
	if (py->lines.count >= PY_LINES)
		table_done(&py->lines);
	/* Without memory it is looked up again. */
	if (table_put(&py->lines, key,
		      (void *)(uintptr_t)((uint64_t)line + 1)) < 0)
		table_done(&py->lines);
	return line;
}
