/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * types_index - the classes and variables of a file, in no unit's order
 *
 * For types_index.c, which makes it, and types_names.c.
 */

#include "tracer/process/types_private.h"

enum { MAX_DEPTH = 24 /* of namespaces, classes and functions */ };

#define ANONYMOUS "(anonymous namespace)"
#define UNNAMED	  "?" /* a function */

/* A namespace, a class, or a function with something in it. */
struct node {
	struct node *parent; /* NULL: the file */
	struct node *next;   /* of the same parent and name's hash */
	struct node *same;   /* of the same unqualified name's hash */
	const char *name;    /* libdw's; a function's is its linkage name */
	enum { SPACE, CLASS, FUNCTION } kind;
	bool differs;  /* there are several, and not the same */
	Dwarf_Die die; /* of a class; no addr: only declared */
	uint64_t size, line;
};

struct place {
	uint64_t addr;
	bool thread;
	Dwarf_Die die;
};

struct index {
	bool functions; /* were looked into */
	size_t left;	/* DIEs to look at */
	struct table children, classes;
	struct table declared; /* a declaration's address -> struct node */
	struct node **node;
	size_t nodes;
	struct place *place;
	size_t places;
};

/* It is made at the first question, and once more if @functions are asked. */
struct index *index_of(struct types *types, bool functions);

/* The hash of the last part of a name, as the key in the classes. */
uint64_t index_last(const char *name);

const char *die_linkage(Dwarf_Die *die);
