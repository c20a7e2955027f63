/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/text.h"
#include "tracer/component/v8.h"

enum {
	MAX_NAME = 256,
	MAX_DEPTH = 4,	    /* of strings made of others */
	MAX_ENTRIES = 4096, /* of a dictionary, in words */
	MAX_OWN = 1020,	    /* descriptors, by V8 itself */
	MAX_BACK = 64,	    /* maps before the first of a constructor */
	MAX_LOCALS = 4096,
	INLINE_LOCALS = 75, /* names of more are in a table of their own */
};

/* StringRepresentationTag */
enum { SEQUENTIAL = 0, CONS = 1, THIN = 5 };

static bool word_at(struct v8 *v8, uint64_t addr, uint64_t *ret)
{
	return addr && pages_words(v8->view->pages, addr, ret, 1);
}

/* The address that a field of @object points to; 0: none. */
static uint64_t field(struct v8 *v8, uint64_t object, int offset)
{
	uint64_t word;

	if (!object || !word_at(v8, object + (unsigned)offset, &word))
		return 0;
	return v8_pointer(word);
}

static bool type_of(struct v8 *v8, uint64_t map, unsigned *ret)
{
	uint16_t type;

	if (pages_read(v8->view->pages, map + (unsigned)v8->fact[V8_MAP_TYPE],
		       &type, sizeof(type)) < 0)
		return false;
	*ret = type;
	return true;
}

/* The map of maps is its own; there may be one for each context. */
static bool is_meta(struct v8 *v8, uint64_t addr)
{
	unsigned type;

	for (unsigned i = 0; i < v8->metas; i++)
		if (v8->meta[i] == addr)
			return true;
	if (!addr || addr % 8 || v8->metas == V8_METAS ||
	    field(v8, addr, 0) != addr || !type_of(v8, addr, &type) ||
	    type != (unsigned)v8->fact[V8_TYPE_MAP])
		return false;
	v8->meta[v8->metas++] = addr;
	return true;
}

bool v8_is_map(struct v8 *v8, uint64_t addr)
{
	return addr && addr % 8 == 0 && is_meta(v8, field(v8, addr, 0));
}

/* Two bytes a character: those beyond ASCII become a question mark. */
static bool narrow(struct v8 *v8, uint64_t addr, uint32_t length, char *text,
		   size_t size)
{
	size_t count = min_u64(length, size - 1);

	for (size_t i = 0; i < count; i++) {
		uint16_t c;

		if (pages_read(v8->view->pages, addr + 2 * i, &c, 2) < 0)
			return false;
		text[i] = c >= ' ' && c < 0x7f ? (char)c : '?';
	}
	text[count] = '\0';
	return count > 0;
}

bool v8_text(struct v8 *v8, uint64_t string, char *text, size_t size)
{
	uint32_t length;
	unsigned type;

	for (unsigned depth = 0; depth < MAX_DEPTH; depth++) {
		uint64_t map = field(v8, string, 0);
		uint64_t chars = string + (unsigned)v8->fact[V8_STRING_CHARS];

		if (!v8_is_map(v8, map) || !type_of(v8, map, &type) ||
		    !v8_is_string(v8, type) ||
		    pages_read(v8->view->pages,
			       string + (unsigned)v8->fact[V8_STRING_LENGTH],
			       &length, 4) < 0)
			return false;
		switch (type & (unsigned)v8->fact[V8_REPRESENTATION]) {
		case SEQUENTIAL:
			if (type & (unsigned)v8->fact[V8_ONE_BYTE])
				return text_copy(v8->view->pages, chars, length,
						 text, size);
			return narrow(v8, chars, length, text, size);
		case CONS:
			string = field(v8, string, v8->fact[V8_CONS_FIRST]);
			break;
		case THIN:
			string = field(v8, string, v8->fact[V8_THIN_ACTUAL]);
			break;
		default:
			return false;
		}
	}
	return false;
}

static bool has_type(struct v8 *v8, uint64_t object, const char *words)
{
	uint64_t map = field(v8, object, 0);
	unsigned type;

	return v8_is_map(v8, map) && type_of(v8, map, &type) &&
	       type < V8_TYPES && v8->type[type] &&
	       strstr(v8->type[type], words);
}

/*
 * The name of a function is in its SharedFunctionInfo, or in the ScopeInfo
 * there: the first string behind the names of what the scope holds.
 */
static bool function_name(struct v8 *v8, uint64_t function, char *name,
			  size_t size)
{
	uint64_t shared = field(v8, function, v8->fact[V8_FUNCTION_SHARED]);
	uint64_t scope, count;

	if (!has_type(v8, shared, "SharedFunctionInfo"))
		return false;
	scope = field(v8, shared, v8->fact[V8_SHARED_NAME]);
	if (v8_text(v8, scope, name, size))
		return true;
	if (!has_type(v8, scope, "ScopeInfo") ||
	    !word_at(v8, scope + 24, &count) || count >> 32 > MAX_LOCALS)
		return false;
	count >>= 32;
	count = count > INLINE_LOCALS ? 1 : 2 * count;
	for (uint64_t i = 0; i < 6; i++)
		if (v8_text(v8, field(v8, scope + 32 + 8 * (count + i), 0),
			    name, size))
			return true;
	return false;
}

/* Descriptor: key, details (a Smi), value. */
struct descriptor {
	uint64_t key, value;
	unsigned index; /* of the field */
	bool is_field;
};

static bool read_descriptor(struct v8 *v8, uint64_t array, unsigned i,
			    struct descriptor *ret)
{
	uint64_t word[3];
	uint32_t details;

	if (!pages_words(v8->view->pages,
			 array + (unsigned)v8->fact[V8_DESCRIPTORS_START] +
				 UINT64_C(24) * i,
			 word, 3))
		return false;
	details = word[1] >> 32;
	ret->key = v8_pointer(word[0]);
	ret->value = v8_pointer(word[2]);
	ret->index = (details & (unsigned)v8->fact[V8_INDEX_MASK]) >>
		     v8->fact[V8_INDEX_SHIFT];
	ret->is_field = !(details & (unsigned)v8->fact[V8_LOCATION_MASK]);
	return true;
}

static bool read_bits(struct v8 *v8, uint64_t map, uint32_t *ret)
{
	return pages_read(v8->view->pages,
			  map + (unsigned)v8->fact[V8_MAP_BITS], ret, 4) == 0;
}

static unsigned own(const struct v8 *v8, uint32_t bits)
{
	return (unsigned)min_u64((bits & (unsigned)v8->fact[V8_OWN_MASK]) >>
					 v8->fact[V8_OWN_SHIFT],
				 MAX_OWN);
}

static uint64_t field_value(struct v8 *v8, uint64_t object, uint64_t map,
			    unsigned index)
{
	uint8_t size, start;

	if (pages_read(v8->view->pages, map + (unsigned)v8->fact[V8_MAP_SIZE],
		       &size, 1) < 0 ||
	    pages_read(v8->view->pages,
		       map + (unsigned)v8->fact[V8_MAP_INOBJECT], &start,
		       1) < 0 ||
	    start > size)
		return 0;
	if (start + index < size)
		return field(v8, object, 8 * (start + (int)index));
	return field(v8, field(v8, object, v8->fact[V8_PROPERTIES]),
		     16 + 8 * ((int)index - (size - start)));
}

static uint64_t fast_property(struct v8 *v8, uint64_t object, uint64_t map,
			      uint32_t bits, const char *want)
{
	uint64_t array = field(v8, map, v8->fact[V8_MAP_DESCRIPTORS]);
	struct descriptor d;
	char text[64];

	for (unsigned i = 0; array && i < own(v8, bits); i++) {
		if (!read_descriptor(v8, array, i, &d))
			return 0;
		if (!v8_text(v8, d.key, text, sizeof(text)) ||
		    strcmp(text, want) != 0)
			continue;
		return d.is_field ? field_value(v8, object, map, d.index)
				  : d.value;
	}
	return 0;
}

/* A dictionary is an array with the key before the value somewhere. */
static uint64_t slow_property(struct v8 *v8, uint64_t object, const char *want)
{
	uint64_t array = field(v8, object, v8->fact[V8_PROPERTIES]), count;
	char text[64];

	if (!word_at(v8, array + 8, &count))
		return 0;
	count = min_u64(count >> 32, MAX_ENTRIES);
	for (uint64_t i = 0; i + 1 < count; i++) {
		uint64_t at = array + 16 + 8 * i;

		if (v8_text(v8, field(v8, at, 0), text, sizeof(text)) &&
		    !strcmp(text, want))
			return field(v8, at, 8);
	}
	return 0;
}

static uint64_t own_property(struct v8 *v8, uint64_t object, const char *want)
{
	uint64_t map = field(v8, object, 0);
	uint32_t bits;

	if (!v8_is_map(v8, map) || !read_bits(v8, map, &bits))
		return 0;
	if (bits >> v8->fact[V8_DICTIONARY] & 1)
		return slow_property(v8, object, want);
	return fast_property(v8, object, map, bits, want);
}

/* Maps that others grew from lead back to the first, and that to a function. */
static uint64_t constructor(struct v8 *v8, uint64_t map)
{
	uint64_t at = field(v8, map, v8->fact[V8_MAP_CONSTRUCTOR]);

	for (unsigned i = 0; i < MAX_BACK && v8_is_map(v8, at); i++)
		at = field(v8, at, v8->fact[V8_MAP_CONSTRUCTOR]);
	return v8_is_map(v8, at) ? 0 : at;
}

static bool object_class(struct v8 *v8, uint64_t map, char *name, size_t size)
{
	uint64_t prototype = field(v8, map, v8->fact[V8_MAP_PROTOTYPE]);
	uint64_t function = own_property(v8, prototype, "constructor");

	return function_name(v8, function, name, size) ||
	       function_name(v8, constructor(v8, map), name, size);
}

/* What is no object for the language, and yet a value of it. */
static const char *value_class(const struct v8 *v8, unsigned type)
{
	static const struct {
		const char *type, *class;
	} known[] = {
		{ "Symbol", "Symbol" },
		{ "HeapNumber", "Number" },
		{ "BigInt", "BigInt" },
	};

	if (v8_is_string(v8, type))
		return "String";
	for (size_t i = 0; v8->type[type] && i < ARRAY_SIZE(known); i++)
		if (!strcmp(v8->type[type], known[i].type))
			return known[i].class;
	return NULL;
}

char *v8_class(struct v8 *v8, const struct v8_map *map)
{
	const char *value = value_class(v8, map->type);
	const char *type = v8->type[map->type];
	char name[MAX_NAME], number[16];

	if (value)
		return strdup(value);
	if (v8_is_object(v8, map) &&
	    object_class(v8, map->addr, name, sizeof(name)))
		return strdup(name);
	if (!type && map->type > (unsigned)v8->fact[V8_TYPE_FIXED] &&
	    map->type < (unsigned)v8->fact[V8_TYPE_BYTES])
		type = "HashTable"; /* the rest of those that are arrays */
	if (!type && map->type >= (unsigned)v8->fact[V8_FIRST_CONTEXT] &&
	    map->type <= (unsigned)v8->fact[V8_LAST_CONTEXT])
		type = "Context";
	snprintf(number, sizeof(number), "type %u", map->type);
	snprintf(name, sizeof(name), "<internal %.200s>", type ? type : number);
	return strdup(name);
}

bool v8_property(struct v8 *v8, const struct v8_map *map, unsigned offset,
		 char *name, size_t size)
{
	struct descriptor d;
	uint32_t bits;

	if (offset < map->inobject || !read_bits(v8, map->addr, &bits) ||
	    bits >> v8->fact[V8_DICTIONARY] & 1)
		return false;
	for (unsigned i = 0; map->descriptors && i < own(v8, bits); i++) {
		if (!read_descriptor(v8, map->descriptors, i, &d))
			return false;
		if (d.is_field && d.index == (offset - map->inobject) / 8)
			return v8_text(v8, d.key, name, size);
	}
	return false;
}
