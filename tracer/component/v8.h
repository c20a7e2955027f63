/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * v8 - JavaScript objects of V8, as in node
 *
 * An object starts with a tagged pointer to its map, and a map is an object
 * whose map is the map of maps.  What its fields are is told by the constants
 * v8dbg_... that node is built with for post-mortem tools.  Pointers are not
 * compressed in node; a build without the constants is told to be unknown.
 *
 * A map of a derived class names the base as its constructor: the one that
 * the prototype names is asked first.
 */

#include "base/table.h"
#include "tracer/component/runtime.h"

/* Numbers that the process tells, see v8_facts.c. */
enum v8_fact {
	V8_TAG,
	V8_MAP_SIZE, /* offsets in a map */
	V8_MAP_INOBJECT,
	V8_MAP_TYPE,
	V8_MAP_BITS,
	V8_MAP_PROTOTYPE,
	V8_MAP_CONSTRUCTOR,
	V8_MAP_DESCRIPTORS,
	V8_DICTIONARY, /* bit of V8_MAP_BITS */
	V8_OWN_SHIFT,  /* how many descriptors there are, likewise */
	V8_OWN_MASK,
	V8_FUNCTION_SHARED,
	V8_SHARED_NAME,
	V8_STRING_LENGTH,
	V8_STRING_CHARS,
	V8_CONS_FIRST,
	V8_THIN_ACTUAL,
	V8_TYPE_MAP, /* instance types */
	V8_TYPE_OBJECT,
	V8_TYPE_ARRAY,
	V8_TYPE_FIXED,
	V8_TYPE_BYTES,
	V8_TYPE_DOUBLES,
	V8_TYPE_PROPERTIES,
	V8_FIRST_NONSTRING,
	V8_FIRST_CONTEXT,
	V8_LAST_CONTEXT,
	V8_REPRESENTATION, /* masks of a string's type */
	V8_ONE_BYTE,
	V8_DESCRIPTORS_START,
	V8_INDEX_SHIFT, /* in the details of a descriptor */
	V8_INDEX_MASK,
	V8_LOCATION_MASK,
	V8_PROPERTIES, /* offsets in an object */
	V8_ELEMENTS,
	V8_FACTS,
};

enum { V8_TYPES = 4096, V8_METAS = 4, V8_FILTER = 65536 };

struct v8_map {
	uint64_t addr;
	char *name;	   /* the class; NULL: this is no map */
	unsigned type;	   /* instance type */
	unsigned size;	   /* of an object, in bytes; 0: it varies */
	unsigned inobject; /* where properties begin in it */
	uint64_t descriptors, constructor;
	unsigned epoch; /* when it was looked at */
	unsigned scan;
	bool match;
};

struct v8 {
	const struct view *view;
	const struct module *module;
	char version[64];
	const char *reason; /* NULL: it can be read */
	int fact[V8_FACTS];
	unsigned first_object; /* the lowest type of JavaScript objects */
	char *type[V8_TYPES];  /* names of instance types, or NULL */
	uint64_t meta[V8_METAS];
	unsigned metas;
	unsigned epoch, scan, walked;
	struct table maps;
	uint8_t filter[V8_FILTER / 8];
};

/* An object that was found. */
struct v8_object {
	uint64_t addr, size; /* size 0: not known */
	struct v8_map *map;
	uint64_t word[3]; /* its first ones */
};

/* A tagged pointer as an address; 0: it is none, or a weak one. */
static inline uint64_t v8_pointer(uint64_t word)
{
	return (word & 3) == 1 ? word - 1 : 0;
}

static inline bool v8_is_object(const struct v8 *v8, const struct v8_map *map)
{
	return map->type >= v8->first_object;
}

static inline bool v8_is_string(const struct v8 *v8, unsigned type)
{
	return type < (unsigned)v8->fact[V8_FIRST_NONSTRING];
}

/* Can @map be one that is known?  Cheap, for words by the million. */
static inline bool v8_plausible(const struct v8 *v8, uint64_t map)
{
	uint64_t bit = map / 8 % V8_FILTER;

	return map && (v8->filter[bit / 8] & 1 << bit % 8);
}

/* v8_facts.c: 0, or -ENOENT: this module has no V8. */
int v8_read_facts(struct v8 *v8);
void v8_free_facts(struct v8 *v8);

/* v8_name.c */
bool v8_is_map(struct v8 *v8, uint64_t addr);
bool v8_text(struct v8 *v8, uint64_t string, char *text, size_t size);
/* The class whose objects have this map, as a new string, or NULL. */
char *v8_class(struct v8 *v8, const struct v8_map *map);
/* The property that lies @offset bytes from an object's start. */
bool v8_property(struct v8 *v8, const struct v8_map *map, unsigned offset,
		 char *name, size_t size);

/* v8_map.c */
struct v8_map *v8_map(struct v8 *v8, uint64_t addr);
void v8_forget(struct v8 *v8);
bool v8_is_full(const struct v8 *v8);
/* Look for all maps, once a stop. */
int v8_walk(struct v8 *v8);

/* v8_object.c: where somebody points to an object; where nobody does. */
bool v8_at(struct v8 *v8, uint64_t addr, struct v8_object *ret);
bool v8_lies_at(struct v8 *v8, uint64_t addr, struct v8_object *ret);
void v8_describe(const struct v8_object *object, enum confidence confidence,
		 struct component *ret);
int v8_each(void *state, const struct scan *scan);
int v8_classes(void *state, int (*visit)(void *context, const char *name),
	       void *context);
