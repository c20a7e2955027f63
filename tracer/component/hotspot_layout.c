/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/table.h"
#include "tracer/component/hotspot_layout.h"
#include "tracer/component/pages.h"
#include "tracer/process/symbols.h"

enum { MAX_ENTRIES = 16384, MAX_WORD = 160 };

/* A value that libjvm.so tells, by the hash of its name. */
struct entry {
	uint64_t hash, value;
};

struct reader {
	struct pages *pages;
	struct symbols *symbols;
	struct entry *entry;
	size_t count, capacity;
};

static int add(struct reader *reader, const char *name, uint64_t value)
{
	if (reader->count == MAX_ENTRIES)
		return -EBADMSG;
	if (reader->count == reader->capacity) {
		size_t n = reader->capacity ? 2 * reader->capacity : 4096;
		struct entry *bigger =
			reallocarray(reader->entry, n, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		reader->entry = bigger;
		reader->capacity = n;
	}
	reader->entry[reader->count++] =
		(struct entry){ table_hash(name, strlen(name)), value };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int64_t value_of(const struct reader *reader, const char *name)
{
	struct entry key = { .hash = table_hash(name, strlen(name)) };
	const struct entry *found = bsearch(&key, reader->entry, reader->count,
					    sizeof(key), compare);

	return found ? (int64_t)found->value : HOTSPOT_NONE;
}

/* What one of its variables holds; 0 also if there is none. */
static uint64_t variable(const struct reader *reader, const char *name)
{
	struct symbol symbol;
	uint64_t value = 0;

	if (symbols_named(reader->symbols, "libjvm", name, &symbol, 1) != 1 ||
	    !pages_words(reader->pages, symbol.addr, &value, 1))
		return 0;
	return value;
}

/* A string of the target's at a pointer of the target's. */
static bool word_at(const struct reader *reader, uint64_t pointer, char *text,
		    size_t size)
{
	uint64_t addr;

	if (!pages_words(reader->pages, pointer, &addr, 1) || !addr)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (pages_read(reader->pages, addr + i, &text[i], 1) < 0)
			return false;
		if (!text[i])
			return true;
	}
	return false;
}

/* How an array of libjvm.so is laid out, which it tells in variables. */
struct array {
	uint64_t at, stride, name, value;
};

static struct array array_of(const struct reader *reader, const char *array,
			     const char *entry, const char *name,
			     const char *value)
{
	char text[64];
	struct array ret;

	ret.at = variable(reader, array);
	snprintf(text, sizeof(text), "%sArrayStride", entry);
	ret.stride = variable(reader, text);
	snprintf(text, sizeof(text), "%s%s", entry, name);
	ret.name = variable(reader, text);
	snprintf(text, sizeof(text), "%s%s", entry, value);
	ret.value = variable(reader, text);
	if (ret.stride < 16 || ret.stride > 256 || ret.name > 248 ||
	    ret.value > 248)
		ret.at = 0;
	return ret;
}

static int read_values(struct reader *reader, const struct array *array,
		       const char *prefix, bool is_int)
{
	uint64_t at = array->at;

	for (unsigned i = 0; at && i < MAX_ENTRIES; i++, at += array->stride) {
		char text[MAX_WORD + 8];
		size_t n = strlen(prefix);
		uint64_t value;
		int r;

		memcpy(text, prefix, n);
		if (!word_at(reader, at + array->name, text + n, MAX_WORD))
			break;
		if (!pages_words(reader->pages, at + array->value, &value, 1))
			return -EBADMSG;
		if (is_int)
			value = (uint64_t)(int64_t)(int32_t)value;
		r = add(reader, text, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_structs(struct reader *reader)
{
	static const char entry[] = "gHotSpotVMStructEntry";
	struct array array = array_of(reader, "gHotSpotVMStructs", entry,
				      "TypeNameOffset", "OffsetOffset");
	uint64_t field =
		variable(reader, "gHotSpotVMStructEntryFieldNameOffset");
	uint64_t is_static =
		variable(reader, "gHotSpotVMStructEntryIsStaticOffset");
	uint64_t addr = variable(reader, "gHotSpotVMStructEntryAddressOffset");
	uint64_t at = array.at;
	struct symbol symbol;

	if (!symbols_named(reader->symbols, "libjvm", "gHotSpotVMStructs",
			   &symbol, 1))
		return -ENOENT;
	if (!at)
		return -EAGAIN; /* its constructors are still to come */
	for (unsigned i = 0; i < MAX_ENTRIES; i++, at += array.stride) {
		char name[MAX_WORD], text[2 * MAX_WORD + 2];
		uint64_t value, flag;
		int r;

		if (!word_at(reader, at + array.name, text, MAX_WORD) ||
		    !word_at(reader, at + field, name, MAX_WORD))
			break;
		strcat(text, "::");
		strcat(text, name);
		if (!pages_words(reader->pages, at + is_static, &flag, 1) ||
		    !pages_words(reader->pages,
				 at + ((uint32_t)flag ? addr : array.value),
				 &value, 1))
			return -EBADMSG;
		r = add(reader, text, value);
		if (r < 0)
			return r;
	}
	return reader->count ? 0 : -EBADMSG;
}

static int read_all(struct reader *reader)
{
	struct array types =
		array_of(reader, "gHotSpotVMTypes", "gHotSpotVMTypeEntry",
			 "TypeNameOffset", "SizeOffset");
	struct array ints = array_of(reader, "gHotSpotVMIntConstants",
				     "gHotSpotVMIntConstantEntry", "NameOffset",
				     "ValueOffset");
	struct array longs = array_of(reader, "gHotSpotVMLongConstants",
				      "gHotSpotVMLongConstantEntry",
				      "NameOffset", "ValueOffset");
	int r = read_structs(reader);

	if (r == 0)
		r = read_values(reader, &types, "sizeof ", false);
	if (r == 0)
		r = read_values(reader, &ints, "", true);
	if (r == 0)
		r = read_values(reader, &longs, "", false);
	return r;
}

int hotspot_layout_read(struct pages *pages, struct symbols *symbols,
			struct hotspot_layout *ret)
{
	struct reader reader = { .pages = pages, .symbols = symbols };
	int r = read_all(&reader);

	if (r == 0)
		qsort(reader.entry, reader.count, sizeof(*reader.entry),
		      compare);
	for (size_t i = 0; r == 0 && i < hotspot_places_count; i++) {
		int64_t value = HOTSPOT_NONE;

		for (int k = 0; k < 3 && hotspot_places[i].name[k]; k++)
			if (value == HOTSPOT_NONE)
				value = value_of(&reader,
						 hotspot_places[i].name[k]);
		memcpy((char *)ret + hotspot_places[i].at, &value,
		       sizeof(value));
	}
	free(reader.entry);
	return r;
}
