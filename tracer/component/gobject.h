/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gobject - instances of classes of GLib's type system
 *
 * An instance starts with the address of its class, a class with its GType,
 * and a GType is the address of a node (GLib's gtype.c: struct _TypeNode;
 * that of GObject itself is a small number).  A node names its class again,
 * so that nothing is believed that is not said twice.  The private data of an
 * instance lies below it, in one block with it.
 *
 * Needs no debug information: where the tables lie is read from the code of
 * two exported functions.
 */

#include "base/table.h"
#include "tracer/component/runtime.h"

struct gtype {
	uint64_t type;	/* GType */
	uint64_t class; /* address of the class structure */
	uint64_t data;	/* of the type: it names the class, too */
	const struct gtype *parent;
	char *name;
	uint32_t size;	  /* of an instance without its private data */
	uint32_t private; /* bytes below an instance, all parents' included */
	bool counted;	  /* a GObject: it has a reference count */
	unsigned scan;	  /* of the scan that asked last: does it match? */
	bool match;
};

enum { GTYPE_FILTER = 65536, GTYPE_DATA_CLASS = 56 };

struct gobject {
	const struct view *view;
	const struct module *module;
	bool known;	 /* this library's code is as expected */
	uint64_t nodes;	 /* of static_fundamental_type_nodes */
	uint64_t quarks; /* of the variable "quarks" of libglib */
	unsigned epoch, scan;
	unsigned walked, pause; /* epoch of the last walk; until the next */
	struct table types;	/* GType -> struct gtype, with a class */
	struct table classes;	/* class -> struct gtype, or a "no" */
	uint8_t filter[GTYPE_FILTER / 8]; /* of classes that are known */
	struct recent {
		uint64_t line, instance;
	} recent[256];
};

/* An instance, and what it is. */
struct instance {
	uint64_t addr;
	const struct gtype *type;
	bool dying; /* no reference is left */
};

/* Where the tables lie, from the code; known says whether. */
void gobject_locate(struct gobject *gobject);
void gobject_forget(struct gobject *gobject);

/* The type whose class structure lies at @class, or NULL. */
struct gtype *gobject_class(struct gobject *gobject, uint64_t class);

/* Look at all types, so that gobject_known() finds them. */
void gobject_walk(struct gobject *gobject);

/* The same of classes that were met: cheap, for words by the million. */
static inline bool gobject_plausible(const struct gobject *gobject,
				     uint64_t class)
{
	uint64_t bit = class / 16 % GTYPE_FILTER;

	return class % 8 == 0 && (gobject->filter[bit / 8] & 1 << bit % 8);
}

/* Where somebody points to an instance. */
bool gobject_at(struct gobject *gobject, uint64_t addr, struct instance *ret);

/* Where nobody does: a class is named in other places, too. */
bool gobject_lies_at(struct gobject *gobject, uint64_t addr,
		     struct instance *ret);

/* Its first byte, and how many there are, private data included. */
static inline uint64_t instance_start(const struct instance *instance)
{
	return instance->addr - instance->type->private;
}

static inline uint64_t instance_size(const struct instance *instance)
{
	return (uint64_t)instance->type->private + instance->type->size;
}

void gobject_describe(const struct instance *instance,
		      enum confidence confidence, struct component *ret);

int gobject_each(void *state, const struct scan *scan);
int gobject_classes(void *state, int (*visit)(void *context, const char *name),
		    void *context);

/* Every registered type, until @visit != 0; the name is only for the call. */
int gobject_types(struct gobject *gobject,
		  int (*visit)(struct gobject *gobject, uint64_t type,
			       const char *name, void *context),
		  void *context);
