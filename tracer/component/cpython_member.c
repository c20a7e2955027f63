/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/cpython.h"

enum {
	TP_NAME = 24,
	TP_MEMBERS = 240,
	TP_BASE = 256,
	MEMBER_SIZE = 40, /* name, type, offset, flags, text */
	MAX_BASES = 32,
	MEMBER_NAME = 128,
	VALUES = 16,
	FIRST_VALUE = 24, /* of those that lie in their object; 3.13 */
};

/* Of builtins what they have no descriptors for. */
static const struct {
	const char *class;
	const char *name;
	int16_t offset;
	uint8_t size;
} known[] = {
	{ "list", "ob_size", 16, 8 },
	{ "list", "ob_item", 24, 8 },
	{ "list", "allocated", 32, 8 },
	{ "dict", "ma_used", 16, 8 },
	{ "dict", "ma_version_tag", 24, 8 },
	{ "dict", "ma_keys", 32, 8 },
	{ "dict", "ma_values", 40, 8 },
	{ "float", "ob_fval", 16, 8 },
	{ "cell", "ob_ref", 16, 8 },
	{ "str", "length", 16, 8 },
	{ "str", "hash", 24, 8 },
	{ "str", "state", 32, 4 },
	{ "bytes", "ob_shash", 24, 8 },
	{ "set", "fill", 16, 8 },
	{ "set", "used", 24, 8 },
	{ "set", "mask", 32, 8 },
	{ "set", "table", 40, 8 },
	{ "set", "hash", 48, 8 },
	{ "set", "finger", 56, 8 },
	{ "set", "smalltable", 64, 128 },
	{ "frozenset", "fill", 16, 8 },
	{ "frozenset", "used", 24, 8 },
	{ "frozenset", "mask", 32, 8 },
	{ "frozenset", "table", 40, 8 },
	{ "frozenset", "hash", 48, 8 },
	{ "frozenset", "smalltable", 64, 128 },
	{ "bytearray", "ob_size", 16, 8 },
	{ "bytearray", "ob_alloc", 24, 8 },
	{ "bytearray", "ob_bytes", 32, 8 },
	{ "bytearray", "ob_start", 40, 8 },
	{ "bytearray", "ob_exports", 48, 8 },
	{ "collections.deque", "ob_size", 16, 8 },
	{ "collections.deque", "leftblock", 24, 8 },
	{ "collections.deque", "rightblock", 32, 8 },
	{ "method", "im_func", 16, 8 },
	{ "method", "im_self", 24, 8 },
};

/* By the type of a PyMemberDef (structmember.h): bytes; else it is left out. */
static unsigned member_size(unsigned type)
{
	static const uint8_t size[] = { 2, 4, 8, 4, 8, 8, 8, 1, 1, 1,
					2, 4, 8, 0, 1, 0, 8, 8, 8, 8 };

	return type < ARRAY_SIZE(size) ? size[type] : 0;
}

static bool add_member(struct py_class *class, const char *name, int64_t offset,
		       unsigned size)
{
	struct py_member *more = reallocarray(
		class->members, class->nmembers + 1, sizeof(*class->members));

	if (!more)
		return false;
	class->members = more;
	more += class->nmembers;
	*more = (struct py_member){ offset, size, strdup(name) };
	class->nmembers += more->name != NULL;
	return more->name && class->nmembers < PY_MEMBERS;
}

/* The descriptors of one class: slots, and members of those in C. */
static bool add_members(const struct cpython *py, struct py_class *class,
			uint64_t addr)
{
	char name[MEMBER_NAME];
	uint64_t word[4];

	for (; py_words(py, addr, word, 4) && word[0]; addr += MEMBER_SIZE) {
		unsigned size = member_size((uint32_t)word[1]);

		if (!size || word[2] >= class->basic ||
		    !py_c_string(py, word[0], name, sizeof(name)))
			continue;
		if (!add_member(class, name, (int64_t)word[2], size))
			return false;
	}
	return true;
}

/* @type is a class that @class is, or descends from. */
static bool add_known(const struct cpython *py, struct py_class *class,
		      uint64_t type)
{
	char name[MEMBER_NAME];
	uint64_t text;

	if (!py_word(py, type + TP_NAME, &text) ||
	    !py_c_string(py, text, name, sizeof(name)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].class, name) &&
		    !add_member(class, known[i].name, known[i].offset,
				known[i].size))
			return false;
	return true;
}

static void read_members(const struct cpython *py, struct py_class *class)
{
	uint64_t type = class->addr, members;

	class->has_members = true;
	for (unsigned i = 0; i < MAX_BASES && type && type % 8 == 0; i++) {
		if (!py_word(py, type + TP_MEMBERS, &members) ||
		    !add_known(py, class, type))
			return;
		if (members && !add_members(py, class, members))
			return;
		if (!py_word(py, type + TP_BASE, &type))
			return;
	}
}

static bool by_descriptor(struct cpython *py, const struct py_object *object,
			  int64_t offset, char *text, size_t size)
{
	struct py_class *class = py_class_at(py, object->class->addr);

	if (!class)
		return false;
	if (!class->has_members)
		read_members(py, class);
	for (size_t i = 0; i < class->nmembers; i++) {
		const struct py_member *m = &class->members[i];

		if (offset < m->offset || offset >= m->offset + m->size)
			continue;
		snprintf(text, size, "%s", m->name);
		return true;
	}
	return false;
}

/* What lies before an object in its block. */
static void before_it(const struct cpython *py, const struct py_object *object,
		      int64_t offset, char *text, size_t size)
{
	static const char *const managed_11[] = { "__dict__", "<values>" };
	static const char *const managed[] = { "__dict__", "__weakref__" };
	size_t i = offset >= -24 ? 0 : 1;

	if (offset >= -16)
		snprintf(text, size, "%s",
			 offset < -8 ? "_gc_next" : "_gc_prev");
	else if (py->layout.minor == 11)
		snprintf(text, size, "%s", managed_11[i]);
	else
		snprintf(text, size, "%s", managed[i]);
}

/* 3.13: attributes, in the order of the keys that all of a class share. */
static bool by_value(const struct cpython *py, const struct py_object *object,
		     int64_t offset, char *text, size_t size)
{
	const struct py_class *class = object->class;
	struct py_keys keys;

	if (py->layout.minor < 13 || !(class->flags & PY_INLINE_VALUES) ||
	    offset < VALUES || !py_keys(py, class->keys, &keys))
		return false;
	/* Their number, or in what order they came */
	if (offset < FIRST_VALUE ||
	    !py_key_text(py, &keys, (uint64_t)(offset - FIRST_VALUE) / 8, text,
			 size))
		snprintf(text, size, "<values>");
	return true;
}

/* An item of a tuple, a byte of bytes, a digit of an int. */
static bool by_item(const struct cpython *py, const struct py_object *object,
		    int64_t offset, char *text, size_t size)
{
	const struct py_class *class = object->class;
	int64_t first = (int64_t) class->basic;

	if (class->addr == py->type || !class->sized)
		return false;
	/* One byte more is counted for the NUL behind bytes. */
	if (class->item == 1)
		first--;
	if (offset < first)
		return false;
	snprintf(text, size, "[%jd]",
		 (intmax_t)(offset - first) / (intmax_t) class->item);
	return true;
}

void py_member(struct cpython *py, const struct py_object *object,
	       uint64_t addr, char *text, size_t size)
{
	const struct py_class *class = object->class;
	int64_t offset = (int64_t)(addr - object->addr);

	text[0] = '\0';
	if (offset < 0)
		before_it(py, object, offset, text, size);
	else if (offset < 8)
		snprintf(text, size, "ob_refcnt");
	else if (offset < 16)
		snprintf(text, size, "ob_type");
	else if (class->sized && offset < 24)
		snprintf(text, size,
			 class->addr == py->integer && py->layout.minor >= 12
				 ? "lv_tag"
				 : "ob_size");
	else if (class->dict > 0 && offset >= class->dict &&
		 offset < class->dict + 8)
		snprintf(text, size, "__dict__");
	else if (class->weakrefs > 0 && offset >= class->weakrefs &&
		 offset < class->weakrefs + 8)
		snprintf(text, size, "__weakref__");
	else if (!by_value(py, object, offset, text, size) &&
		 !by_descriptor(py, object, offset, text, size))
		by_item(py, object, offset, text, size);
}
