/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/cpython.h"

enum {
	MAX_TEXT = 4096,    /* characters of a str that is a name */
	MAX_KEYS = 512,	    /* that are looked through for one */
	MAX_LOG2 = 36,	    /* of the size of a dict */
	STATE = 32,	    /* in a str */
	OLD_KEYS_HEAD = 40, /* bytes before the hash table, until 3.10 */
	KEYS_HEAD = 32,
};

bool py_c_string(const struct cpython *py, uint64_t addr, char *text,
		 size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c;

		if (!py_read(py, addr + i, &c, 1))
			return false;
		text[i] = (char)c;
		if (!c)
			return i > 0;
		if (c < ' ' || c == 0x7f)
			return false;
	}
	return false;
}

/* One character; the bytes that it took. */
static size_t utf8(uint32_t c, char *text)
{
	if (c < 0x80) {
		text[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		text[0] = (char)(0xc0 | c >> 6);
		text[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	/* A surrogate alone is no character, and no valid UTF-8. */
	if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = 0xfffd;
	if (c < 0x10000) {
		text[0] = (char)(0xe0 | c >> 12);
		text[1] = (char)(0x80 | (c >> 6 & 0x3f));
		text[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	text[0] = (char)(0xf0 | c >> 18);
	text[1] = (char)(0x80 | (c >> 12 & 0x3f));
	text[2] = (char)(0x80 | (c >> 6 & 0x3f));
	text[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* @length characters of @width bytes each. */
static bool decode(const struct cpython *py, uint64_t addr, uint64_t length,
		   unsigned width, char *text, size_t size)
{
	size_t n = 0;

	for (uint64_t i = 0; i < length && n + 5 <= size; i++) {
		uint32_t c = 0;

		if (!py_read(py, addr + i * width, &c, width))
			return false;
		n += utf8(c, text + n);
	}
	text[n] = '\0';
	return true;
}

bool py_str(const struct cpython *py, uint64_t addr, char *text, size_t size)
{
	uint64_t word[3];
	uint32_t state;
	unsigned width;
	bool ascii;

	if (addr % 8 || !py_words(py, addr, word, 3) || word[1] != py->str ||
	    word[2] > MAX_TEXT || !py_read(py, addr + STATE, &state, 4))
		return false;
	width = state >> 2 & 7;
	ascii = state & 0x40;
	if (!(state & 0x20) || (width != 1 && width != 2 && width != 4) ||
	    (ascii && width != 1))
		return false;
	addr += ascii ? py->layout.ascii : py->layout.compact;
	if (!ascii)
		return decode(py, addr, word[2], width, text, size);
	if (word[2] >= size)
		word[2] = size - 1;
	text[word[2]] = '\0';
	return py_read(py, addr, text, word[2]);
}

static unsigned index_size(uint64_t size)
{
	return size <= 0xff	    ? 1
	       : size <= 0xffff	    ? 2
	       : size <= 0xffffffff ? 4
				    : 8;
}

static bool old_keys(const struct cpython *py, uint64_t addr,
		     struct py_keys *ret)
{
	uint64_t head[5];

	if (!py_words(py, addr, head, 5))
		return false;
	ret->size = head[1];
	ret->usable = head[3];
	ret->used = head[4];
	ret->indices = ret->size * index_size(ret->size);
	ret->first = addr + OLD_KEYS_HEAD + ret->indices;
	ret->entry = 24;
	ret->key = 8;
	/* 1: of the empty dict */
	return (int64_t)head[0] > 0 && head[0] < 1u << 31 && ret->size &&
	       ret->size <= UINT64_C(1) << MAX_LOG2 &&
	       (ret->size & (ret->size - 1)) == 0;
}

bool py_keys(const struct cpython *py, uint64_t addr, struct py_keys *ret)
{
	uint64_t head[4];
	unsigned log2, log2_bytes, kind;

	ret->addr = addr;
	if (addr % 8)
		return false;
	if (py->layout.minor < 11) {
		if (!old_keys(py, addr, ret))
			return false;
	} else {
		if (!py_words(py, addr, head, 4))
			return false;
		log2 = head[1] & 0xff;
		log2_bytes = head[1] >> 8 & 0xff;
		kind = head[1] >> 16 & 0xff;
		if (!head[0] || head[0] > UINT32_MAX || log2 > MAX_LOG2 ||
		    log2_bytes < 3 || log2_bytes > log2 + 3 || kind > 2)
			return false;
		ret->size = UINT64_C(1) << log2;
		ret->usable = head[2];
		ret->used = head[3];
		ret->indices = UINT64_C(1) << log2_bytes;
		ret->first = addr + KEYS_HEAD + ret->indices;
		ret->entry = kind ? 16 : 24;
		ret->key = kind ? 0 : 8;
	}
	if (ret->used > ret->size || ret->usable > ret->size ||
	    ret->used + ret->usable > ret->size)
		return false;
	ret->end = ret->first + (ret->used + ret->usable) * ret->entry;
	return true;
}

bool py_key_text(const struct cpython *py, const struct py_keys *keys,
		 uint64_t i, char *text, size_t size)
{
	uint64_t key;

	return i < keys->used &&
	       py_word(py, keys->first + i * keys->entry + keys->key, &key) &&
	       py_str(py, key, text, size);
}

uint64_t py_dict_get(const struct cpython *py, uint64_t dict, const char *name)
{
	uint64_t word[6], value;
	struct py_keys keys;
	char text[64];

	if (!py_words(py, dict, word, 6) || word[1] != py->dict || word[5] ||
	    !py_keys(py, word[4], &keys))
		return 0;
	for (uint64_t i = 0; i < keys.used && i < MAX_KEYS; i++) {
		if (!py_key_text(py, &keys, i, text, sizeof(text)) ||
		    strcmp(text, name) != 0)
			continue;
		if (py_word(py, keys.first + i * keys.entry + keys.key + 8,
			    &value))
			return value;
		return 0;
	}
	return 0;
}
