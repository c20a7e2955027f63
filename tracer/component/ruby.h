/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ruby - objects of MRI, the C implementation of Ruby, version 3.1
 *
 * Objects are slots of 40 bytes in pages of 16 KiB, whose first word leads to
 * a description of the page (gc.c: struct heap_page).  A slot starts with
 * flags, the lowest of which are its type, and its class (struct RBasic); a
 * class keeps its path among its variables (variable.c: "__classpath__").
 * What has no class of the language is told as "<internal TYPE>".
 *
 * Other versions have other layouts, and are told to be not supported.
 */

#include "base/table.h"
#include "tracer/component/runtime.h"

enum { RUBY_PAGE = 16384, RUBY_SLOT = 40 };

/* Types: the lowest five bits of the flags. */
enum {
	RUBY_NONE = 0,
	RUBY_OBJECT = 1,
	RUBY_CLASS = 2,
	RUBY_MODULE = 3,
	RUBY_STRING = 5,
	RUBY_ARRAY = 7,
	RUBY_HASH = 8,
	RUBY_STRUCT = 9,
	RUBY_DATA = 0xc,
	RUBY_RATIONAL = 0xf,
	RUBY_SYMBOL = 0x14,
	RUBY_IMEMO = 0x1a,
	RUBY_NODE = 0x1b,
	RUBY_ICLASS = 0x1c,
	RUBY_TYPE = 0x1f,
};

/* FL_USER0 and so on: what they mean depends on the type. */
#define RUBY_USER(n) (UINT64_C(1) << (12 + (n)))

struct ruby_class {
	uint64_t addr, extension; /* struct RClass, its rb_classext_t */
	char *path;		  /* NULL: it is no class */
	unsigned epoch;		  /* when it was looked at */
	uint64_t names;		  /* how many variables were known then */
	char *variable[8];	  /* of instances; NULL: not known */
	unsigned scan;
	bool match;
};

struct ruby_page {
	uint64_t start; /* of the first slot; 0: it is none */
	unsigned slots;
	unsigned epoch;
};

struct ruby {
	const struct view *view;
	const struct module *module;
	char version[32];
	bool supported;
	uint64_t object;  /* address of the variable rb_cObject */
	uint64_t symbols; /* of ruby_global_symbols; 0: not found */
	uint64_t path_id; /* ID of __classpath__, once it is known */
	unsigned epoch, scan;
	struct table classes; /* by address */
	struct table pages;   /* by address */
};

/* An object that is in use. */
struct ruby_object {
	uint64_t addr, flags;
	struct ruby_class *class; /* NULL: internal */
	char internal[32];	  /* "<internal string>" */
};

static inline unsigned ruby_type(uint64_t flags)
{
	return flags & RUBY_TYPE;
}

/* ruby_class.c */
struct ruby_class *ruby_class(struct ruby *ruby, uint64_t addr);
/* A string of the language; false if it is none, or none to print. */
bool ruby_text(struct ruby *ruby, uint64_t addr, char *text, size_t size);
/* The path of the class at @addr itself, as a new string, or NULL. */
char *ruby_path(struct ruby *ruby, uint64_t addr);
/* The name of the variable at @index of instances, or NULL. */
const char *ruby_variable(struct ruby *ruby, struct ruby_class *class,
			  unsigned index);
void ruby_forget(struct ruby *ruby);
bool ruby_is_full(const struct ruby *ruby);
/* Where the tables lie, from symbols and code. */
void ruby_locate(struct ruby *ruby);

/* ruby_slot.c: the page, or NULL; the object that covers @addr. */
struct ruby_page *ruby_page(struct ruby *ruby, uint64_t addr);
bool ruby_at(struct ruby *ruby, uint64_t addr, struct ruby_object *ret);
const char *ruby_name(const struct ruby_object *object);
void ruby_describe(const struct ruby_object *object, struct component *ret);

int ruby_each(void *state, const struct scan *scan);
int ruby_classes(void *state, int (*visit)(void *context, const char *name),
		 void *context);
