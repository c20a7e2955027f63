/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/cpython.h"

/* Of a type object, in words; the same in all versions that we know. */
enum {
	TP_TYPE = 1, /* ob_type */
	TP_NAME = 3,
	TP_BASIC = 4,
	TP_ITEM = 5,
	TP_FLAGS = 21,
	TP_WEAKREFS = 26,
	TP_MEMBERS = 30,
	TP_BASE = 32,
	TP_DICT = 33,
	TP_DICT_OFFSET = 36,
	TP_MRO = 43,
	TP_VERSION = 48,
	TP_WORDS = 49,
};

enum {
	MAX_BASES = 64,
	MAX_BASIC = 1 << 20,
	MAX_ITEM = 1 << 16,
	MEMBER_SIZE = 40, /* of a PyMemberDef */
};

static void free_class(struct py_class *class)
{
	for (size_t i = 0; i < class->nmembers; i++)
		free(class->members[i].name);
	free(class->members);
	free(class->name);
	free(class);
}

void py_classes_forget(struct cpython *py)
{
	table_for_each(&py->classes, s) free_class(s->value);
	table_done(&py->classes);
}

/* Does the class @addr descend from PyType_Type? */
static bool is_metaclass(const struct cpython *py, uint64_t addr)
{
	for (unsigned i = 0; i < MAX_BASES && addr; i++) {
		if (addr == py->type)
			return true;
		if (addr % 8 || !py_word(py, addr + TP_BASE * 8, &addr))
			return false;
	}
	return false;
}

/* A class is an instance of a metaclass, which is one of another, or type. */
static bool leads_to_type(const struct cpython *py, uint64_t meta)
{
	for (unsigned i = 0; i < 4; i++) {
		if (meta == py->type)
			return true;
		if (!meta || meta % 8 || !is_metaclass(py, meta) ||
		    !py_word(py, meta + TP_TYPE * 8, &meta))
			return false;
	}
	return false;
}

static uint64_t print_of(const uint64_t word[TP_WORDS])
{
	const uint64_t kept[] = { word[TP_TYPE],     word[TP_NAME],
				  word[TP_BASIC],    word[TP_ITEM],
				  word[TP_WEAKREFS], word[TP_MEMBERS],
				  word[TP_BASE],     word[TP_DICT],
				  word[TP_MRO],	     word[TP_DICT_OFFSET] };

	return table_hash(kept, sizeof(kept));
}

/* Those of C have objects while the interpreter yet sets them up. */
static bool is_class(const struct cpython *py, uint64_t addr,
		     const uint64_t word[TP_WORDS])
{
	uint32_t flags = (uint32_t)word[TP_FLAGS];

	return word[0] && word[TP_BASIC] >= 16 && word[TP_BASIC] < MAX_BASIC &&
	       word[TP_ITEM] < MAX_ITEM &&
	       ((flags & PY_READY) ||
		symbols_module(py->view->world->symbols, addr)) &&
	       leads_to_type(py, word[TP_TYPE]);
}

/*
 * A class of the program has its name in a str and its module in its dict; one
 * of C has both in its tp_name, but for builtins.
 */
static bool name_class(const struct cpython *py, uint64_t addr,
		       const uint64_t word[TP_WORDS], char *text, size_t size)
{
	char module[PY_NAME / 2], name[PY_NAME / 2];
	uint64_t str, dict = word[TP_DICT];

	if (!py_c_string(py, word[TP_NAME], text, size))
		return false;
	if (!(word[TP_FLAGS] & PY_HEAP_TYPE) || strchr(text, '.'))
		return true;
	if (!py_word(py, addr + py->layout.qualname, &str) ||
	    !py_str(py, str, name, sizeof(name)))
		return true;
	str = py_dict_get(py, dict, "__module__");
	if (!str || !py_str(py, str, module, sizeof(module)) ||
	    !strcmp(module, "builtins"))
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, "%s.%s", module, name);
	return true;
}

/* Some have an item size and yet no count of their items. */
static bool is_sized(const struct cpython *py, uint64_t addr, const char *name)
{
	static const char *const bare[] = { "generator", "coroutine",
					    "async_generator", "frame" };

	if (addr == py->frame)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(bare); i++)
		if (!strcmp(name, bare[i]))
			return false;
	return true;
}

static unsigned before(const struct cpython *py, uint32_t flags)
{
	uint32_t managed = 0;

	if (py->layout.minor == 11)
		managed = PY_MANAGED_DICT;
	else if (py->layout.minor > 11)
		managed = PY_MANAGED_DICT | PY_MANAGED_WEAKREF;
	return (flags & PY_GC ? 16 : 0) + (flags & managed ? 16 : 0);
}

/* @class is the one at its address that was known until now, or new. */
static bool learn(const struct cpython *py, struct py_class *class,
		  const uint64_t word[TP_WORDS])
{
	char name[PY_NAME];
	uint64_t keys = 0;

	if (!is_class(py, class->addr, word) ||
	    !name_class(py, class->addr, word, name, sizeof(name)))
		return false;
	class->name = strdup(name);
	class->flags = (uint32_t)word[TP_FLAGS];
	class->basic = word[TP_BASIC];
	class->item = word[TP_ITEM];
	class->dict = (int64_t)word[TP_DICT_OFFSET];
	class->weakrefs = (int64_t)word[TP_WEAKREFS];
	class->sized = class->item && is_sized(py, class->addr, name);
	class->before = before(py, class->flags);
	if (class->flags & PY_HEAP_TYPE)
		py_word(py, class->addr + py->layout.keys, &keys);
	class->keys = keys;
	return class->name;
}

/*
 * A class of the program may be freed, and another one lie in its place; even
 * in the same memory with all its parts.  Its version tag is never given to
 * two; where it has none, its name is read again.
 */
static bool is_same(const struct cpython *py, const struct py_class *class,
		    const uint64_t word[TP_WORDS])
{
	char name[PY_NAME];

	if (!class->valid || !word[0] || class->print != print_of(word) ||
	    class->flags != (uint32_t)word[TP_FLAGS])
		return false;
	if (!(class->flags & PY_HEAP_TYPE))
		return true;
	if (class->version)
		return class->version == (uint32_t)word[TP_VERSION];
	return name_class(py, class->addr, word, name, sizeof(name)) &&
	       !strcmp(name, class->name);
}

static struct py_class *put(struct cpython *py, uint64_t addr)
{
	struct py_class *class;

	if (py->classes.count >= PY_CLASSES)
		py_classes_forget(py);
	class = calloc(1, sizeof(*class));
	if (!class)
		return NULL;
	class->addr = addr;
	if (table_put(&py->classes, addr, class) < 0) {
		free(class);
		return NULL;
	}
	return class;
}

static void renew(const struct cpython *py, struct py_class *class,
		  const uint64_t word[TP_WORDS])
{
	struct py_class fresh = { .addr = class->addr };

	for (size_t i = 0; i < class->nmembers; i++)
		free(class->members[i].name);
	free(class->members);
	free(class->name);
	fresh.valid = learn(py, &fresh, word);
	fresh.print = print_of(word);
	*class = fresh;
}

/*
 * Without a look at all of it: one of C is where it was until its library is
 * unloaded; one of the program lives as long as an object of it does, and its
 * version tag is given to no other.
 */
static bool still_is(const struct cpython *py, const struct py_class *class)
{
	uint64_t version;

	if (!class->valid || class->remaps != py->remaps)
		return false;
	if (!(class->flags & PY_HEAP_TYPE))
		return class->flags & PY_READY;
	return class->version &&
	       py_word(py, class->addr + TP_VERSION * 8, &version) &&
	       (uint32_t)version == class->version;
}

struct py_class *py_class_at(struct cpython *py, uint64_t addr)
{
	struct py_class *class = table_get(&py->classes, addr);
	uint64_t word[TP_WORDS];

	if (class && class->valid && class->epoch == py->epoch)
		return class;
	if (class && still_is(py, class)) {
		class->epoch = py->epoch;
		return class;
	}
	/* Most words that are not a class's address are told here. */
	if (!addr || addr % 8 || addr >> 47 ||
	    !py_words(py, addr, word, TP_WORDS))
		return NULL;
	if (!class) {
		if (!is_class(py, addr, word))
			return NULL;
		class = put(py, addr);
		if (!class)
			return NULL;
	}
	if (!is_same(py, class, word))
		renew(py, class, word);
	class->version = (uint32_t)word[TP_VERSION];
	class->epoch = py->epoch;
	class->remaps = py->remaps;
	return class->valid ? class : NULL;
}
