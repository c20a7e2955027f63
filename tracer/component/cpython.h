/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cpython - objects and frames of CPython 3.9 to 3.13
 *
 * What the files cpython*.c share.  An object begins with a count of its
 * references and the address of its class, which is an object, too.  That is
 * believed only if the class leads to PyType_Type and the object fills its
 * block: a block of obmalloc's pools, or a chunk of malloc's.
 *
 * Offsets are those of the headers of each version (Include/internal), of 64
 * bit and with a global interpreter lock; from 3.13 on the process has those
 * of frames itself (_Py_DebugOffsets).
 */

#include "base/table.h"
#include "tracer/component/runtime.h"

enum {
	PY_CLASSES = 1 << 16, /* that are remembered */
	PY_MEMBERS = 256,     /* names of one class */
	PY_OWNERS = 1 << 16,
	PY_CODES = 1 << 14,
	PY_LINES = 1 << 16,
	PY_DYING = 64,
	PY_STATES = 64,
	PY_NAME = 512,
};

/* tp_flags */
enum {
	PY_INLINE_VALUES = 1 << 2,   /* 3.13 */
	PY_MANAGED_WEAKREF = 1 << 3, /* 3.12 */
	PY_MANAGED_DICT = 1 << 4,    /* 3.11 */
	PY_HEAP_TYPE = 1 << 9,
	PY_READY = 1 << 12,
	PY_GC = 1 << 14,
};

struct py_layout {
	unsigned minor;		 /* of 3.minor */
	uint32_t qualname, keys; /* in a heap type */
	uint32_t ascii, compact; /* where the text of a str begins */
	uint32_t pool;		 /* bytes; a power of two */

	/* _PyRuntime, interpreter, thread */
	uint32_t interpreters, interpreter_next, threads;
	uint32_t thread_next, thread_interpreter, thread_id;
	uint32_t thread_frame; /* 3.11, 3.12: its struct _PyCFrame */
	uint32_t cframe_frame, cframe_previous;

	/* a frame: until 3.10 an object */
	uint32_t back, code, instruction, owner;

	uint32_t sre_mark, sre_stack; /* in an SRE_STATE */

	uint32_t co_filename, co_name, co_lines, co_first_line, co_code;
};

/* A class that is one: checked, and named. */
struct py_class {
	uint64_t addr;
	unsigned epoch; /* it was checked in */
	unsigned remaps;
	bool valid;
	bool has_members;
	bool sized; /* ob_size tells how many items it has */
	bool match; /* of a scan */
	unsigned scan;
	uint32_t flags;
	uint32_t version; /* tp_version_tag; 0: none */
	uint64_t print;	  /* of its pointers, to see that it is the same */
	uint64_t basic, item;
	int64_t dict, weakrefs; /* tp_dictoffset, tp_weaklistoffset */
	uint64_t keys;		/* ht_cached_keys */
	unsigned before;	/* bytes of its block before an object */
	size_t nmembers;
	struct py_member *members;
	char *name;
};

struct py_member {
	int64_t offset;
	unsigned size;
	char *name;
};

/* What obmalloc or malloc gave, or a variable. */
struct py_block {
	enum { PY_NOWHERE, PY_POOL, PY_CHUNK, PY_STATIC } kind;
	uint64_t start, end;
	bool head; /* a pool's own header */
};

struct py_object {
	uint64_t addr;
	const struct py_class *class; /* until classes are forgotten */
	uint64_t size;		      /* from addr; 0: as its block */
	bool dying;		      /* nobody refers to it any longer */
	struct py_block block;
};

struct cpython {
	const struct view *view;
	const struct module *module;
	struct py_layout layout;
	unsigned version;   /* PY_VERSION_HEX, or 0 */
	const char *reason; /* why nothing can be told, or NULL */
	uint64_t type, list, dict, tuple, str, integer, frame, code_type;
	uint64_t runtime;
	unsigned epoch, remaps, scan;
	struct table classes; /* address -> struct py_class */
	struct table owners;  /* storage -> address of its owner, + 1 */
	struct table codes;   /* address -> struct py_code */
	struct table lines;   /* of code and place -> line, + 1 */
	uint32_t serial;      /* of codes */
	struct {
		uint64_t start, end;
	} eval;
	struct {
		uint64_t fs_base, addr;
	} thread[16]; /* by a hash */
	struct {
		uint64_t addr;
		unsigned epoch;
	} dying[PY_DYING]; /* by a hash */
	struct {
		uint64_t start; /* of a block of it */
		uint64_t state; /* 0: it has none */
		unsigned epoch;
	} sre[PY_STATES]; /* by a hash */
};

/* cpython_layout.c: that of 3.@minor, or NULL. */
const struct py_layout *py_layout_of(unsigned minor);

/* Where all that is; false: not in this module. */
bool py_find(struct cpython *py, const struct module *module);

/* cpython_text.c */

static inline bool py_words(const struct cpython *py, uint64_t addr,
			    uint64_t *words, size_t count)
{
	return addr >= PAGE && pages_words(py->view->pages, addr, words, count);
}

static inline bool py_read(const struct cpython *py, uint64_t addr, void *to,
			   size_t size)
{
	return addr >= PAGE && pages_read(py->view->pages, addr, to, size) == 0;
}

static inline bool py_word(const struct cpython *py, uint64_t addr,
			   uint64_t *word)
{
	return py_words(py, addr, word, 1);
}

/* A C string of printable text that ends within @size. */
bool py_c_string(const struct cpython *py, uint64_t addr, char *text,
		 size_t size);

/* A str, in UTF-8, cut to @size.  False: it is none. */
bool py_str(const struct cpython *py, uint64_t addr, char *text, size_t size);

/* The keys of a dict. */
struct py_keys {
	uint64_t addr;
	uint64_t size;	  /* of the hash table */
	uint64_t indices; /* bytes of it */
	uint64_t first;	  /* entry */
	unsigned entry;	  /* bytes */
	unsigned key;	  /* where in it its key is */
	uint64_t used, usable;
	uint64_t end;
};

/* False: these are none. */
bool py_keys(const struct cpython *py, uint64_t addr, struct py_keys *ret);

/* The text of key @i; false: it is no str. */
bool py_key_text(const struct cpython *py, const struct py_keys *keys,
		 uint64_t i, char *text, size_t size);

/* The value that a dict has under the name @key, or 0. */
uint64_t py_dict_get(const struct cpython *py, uint64_t dict, const char *key);

/* cpython_class.c: the class at @addr, or NULL. */
struct py_class *py_class_at(struct cpython *py, uint64_t addr);
void py_classes_forget(struct cpython *py);

/* cpython_object.c: is there an object, and only that? */
bool py_object_at(struct cpython *py, uint64_t addr, struct py_object *ret);
/* The one that fills a block. */
bool py_object_in(struct cpython *py, const struct py_block *block,
		  struct py_object *ret);
struct py_block py_block_of(struct cpython *py, uint64_t addr);
/* Was that the store that takes the last reference to an object? */
void py_dies(struct cpython *py, const struct query *query);
/* Does a block of obmalloc's wait to be given out? */
bool py_is_free(const struct cpython *py, const struct py_block *block);
/* The block of obmalloc's that holds @addr. */
bool py_pool_block(const struct cpython *py, uint64_t addr,
		   struct py_block *ret);
/* The head of a pool is one; *size is of its blocks, *used where they end. */
bool py_is_pool(const struct cpython *py, uint64_t pool,
		const uint32_t head[12], uint32_t *size, uint32_t *used);

/* cpython_member.c: the member's name at @addr, which lies in @object. */
void py_member(struct cpython *py, const struct py_object *object,
	       uint64_t addr, char *text, size_t size);

/*
 * cpython_owner.c: what lies in a block of its own but belongs to an object:
 * items of lists, keys and values of dicts, attributes.
 */
void py_learn(struct cpython *py, const struct py_object *object);
/* How many there are; they are learnt, too. */
unsigned py_parts(struct cpython *py, const struct py_object *object,
		  struct py_block ret[3]);
bool py_owned(struct cpython *py, const struct query *query,
	      const struct py_block *block, struct component *ret);

/* cpython_sre.c: is @block one of a match that is under way? */
bool py_matching(struct cpython *py, const struct query *query,
		 const struct py_block *block, struct component *ret);

/* cpython_scan.c */
int py_each(void *state, const struct scan *scan);
int py_class_names(void *state, int (*visit)(void *context, const char *name),
		   void *context);

/* cpython_code.c: functions and lines */
struct py_code {
	uint32_t serial;
	uint64_t print;	     /* of its words, to see that it is the same */
	bool volatile_lines; /* its text has no file: it may be another's */
	uint64_t start;	     /* of its instructions */
	uint64_t lines_addr, lines_size;
	unsigned first_line;
	char *function, *file;
};

const struct py_code *py_code_at(struct cpython *py, uint64_t addr);
/* The line of the instruction at @offset; 0: none. */
unsigned py_line(struct cpython *py, const struct py_code *code,
		 int64_t offset);
void py_codes_forget(struct cpython *py);

/* cpython_stack.c: is @addr in a frame of the thread's, from 3.11 on? */
bool py_stack(struct cpython *py, const struct query *query,
	      struct component *ret);

/* cpython_frames.c */
/* The record of the thread whose fs_base is @self, or 0. */
uint64_t py_thread(struct cpython *py, uint64_t self);
int py_frames(void *state, const struct stack_query *query,
	      struct managed *managed);
