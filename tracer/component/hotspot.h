/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hotspot - objects, classes and code of a Java virtual machine of OpenJDK
 *
 * What the files hotspot*.c share.  libjvm.so exports tables of its own layout
 * (gHotSpotVMStructs and its like, made for its Serviceability Agent); all
 * offsets and addresses come from there, so that 11 to 25 are read alike.
 * Read from the outside and at any moment: collections and allocations may be
 * half done.
 */

#include "base/table.h"
#include "tracer/component/hotspot_layout.h"
#include "tracer/component/runtime.h"

enum hotspot_collector {
	COLLECTOR_SERIAL,
	COLLECTOR_PARALLEL,
	COLLECTOR_G1,
	COLLECTOR_Z,	      /* its objects by registers only */
	COLLECTOR_SHENANDOAH, /* likewise */
	COLLECTOR_OTHER,      /* likewise */
};

enum hotspot_phase {
	PHASE_TABLES, /* are read; there is no heap or class yet */
	PHASE_READY,
	PHASE_REFUSED, /* the tables make no sense */
};

struct member {
	uint32_t offset;
	uint8_t size;
	char *name;
};

struct members {
	struct member *member; /* by offset */
	size_t count, capacity;
};

/* A class, as a Klass in memory describes it. */
struct klass {
	uint64_t addr;
	uint64_t symbol; /* of its name */
	uint64_t super;
	int32_t layout; /* layout helper: size, or shape of an array */
	unsigned epoch; /* when it was last compared with memory */
	unsigned moves; /* likewise */
	unsigned scan;	/* that asked last: does it match? */
	bool match;
	bool mirror;  /* java.lang.Class: objects of several sizes */
	bool members; /* own and inherited are filled in, statics too */
	char *name;   /* as people write it */
	struct members own, statics;
};

struct hotspot_space {
	uint64_t start, top, end;
	bool young;  /* handed out to threads in pieces, by no order */
	bool single; /* one object that is larger than a region */
};

/* The first object known to begin in a card. */
struct start {
	uint64_t card, addr;
	unsigned moves; /* that it holds for */
	unsigned epoch; /* likewise; 0: for all */
};

enum {
	HOTSPOT_PIECES = 512,
	HOTSPOT_ABSENT = 256,
	HOTSPOT_HEAPS = 8,
	HOTSPOT_GRANULES = 256
};

struct code_heap {
	uint64_t low, high, segments;
	unsigned shift;
};

struct hotspot {
	const struct view *view;
	struct pages *pages;
	enum hotspot_phase phase;
	unsigned epoch;
	struct hotspot_layout at;

	enum hotspot_collector collector;
	bool compressed_oops, compressed_classes, compact;
	uint32_t alignment;
	uint32_t header, length; /* offsets: first field, length of arrays */
	uint64_t narrow_base;
	unsigned narrow_shift, mark_bits;
	uint32_t mirror_klass, mirror_size; /* offsets in java.lang.Class */
	uint64_t heap;			    /* the CollectedHeap */
	uint64_t start, end;		    /* that it may use */
	unsigned region_shift;		    /* of G1 */
	uint64_t regions;
	uint64_t object; /* the Klass of java.lang.Object */
	uint64_t interpreter, interpreter_end; /* its code */
	uint64_t code_low, code_high;
	uint64_t shared, shared_end; /* classes that came with the machine */
	uint64_t granule[HOTSPOT_GRANULES]; /* that have metadata */
	uint32_t klass_head;

	struct table classes; /* Klass -> struct klass */
	struct {
		uint64_t addr;
		unsigned epoch;
	} absent[HOTSPOT_ABSENT]; /* what is no Klass */
	unsigned scan;

	unsigned moved_epoch, collections;
	unsigned moves; /* counts up whenever objects may have been moved */
	bool collecting;
	struct start *starts;
	uint64_t resume; /* where the last scan came to, in resume_epoch */
	uint64_t resume_object; /* the first object from there */
	unsigned resume_epoch;

	/* What threads have taken and not filled yet. */
	unsigned pieces_epoch, pieces;
	struct {
		uint64_t start, top, end;
	} piece[HOTSPOT_PIECES];

	unsigned heaps_epoch, heaps;
	struct code_heap code[HOTSPOT_HEAPS];

	/* hotspot_stack.h */
	unsigned unsigned5;	      /* the least byte of such a number */
	uint64_t entry_return;	      /* where Java returns to native code */
	uint32_t serial;	      /* of methods and sites */
	struct table methods;	      /* Method -> struct java_method */
	struct table lines;	      /* of method and place -> line, + 1 */
	struct table blobs;	      /* start -> struct java_blob */
	struct table sites;	      /* of ip -> struct java_site */
	bool code_changed;	      /* sites may be of other code by now */
	struct java_codelet *codelet; /* of the interpreter */
	size_t codelets;
};

/* hotspot_layout.c: 0 or -errno; the rest of struct hotspot, once it can. */
int hotspot_open(struct hotspot *hotspot);

/* It is made after the first classes; one that is not as expected is none. */
void hotspot_find_interpreter(struct hotspot *hotspot);

/* A string of C, cut to fit; false: it has no end. */
bool hotspot_text(struct hotspot *hotspot, uint64_t addr, char *text,
		  size_t size);

/* hotspot_class.c: the class that @klass describes, or NULL. */
struct klass *hotspot_klass(struct hotspot *hotspot, uint64_t klass);
void hotspot_forget_classes(struct hotspot *hotspot);
/* The text of a Symbol, cut to fit; false: there is none. */
bool hotspot_symbol(struct hotspot *hotspot, uint64_t symbol, char *text,
		    size_t size);
/* A name of the virtual machine as people write it: java.lang.String[] */
void hotspot_pretty(const char *name, char *text, size_t size);
/* All classes, until @visit != 0. */
int hotspot_each_class(struct hotspot *hotspot,
		       int (*visit)(void *context, struct klass *klass),
		       void *context);

/* hotspot_field.c: the field that covers @offset, or NULL. */
const struct member *hotspot_field(struct hotspot *hotspot, struct klass *klass,
				   uint32_t offset, bool is_static);
void members_done(struct members *members);

/* hotspot_object.c: what starts at @addr, or NULL; *size is 0 if unknown. */
struct klass *hotspot_object(struct hotspot *hotspot, uint64_t addr,
			     uint64_t *size);
/* The same of a header that was read: 16 bytes, and 8 for mirrors at @size. */
struct klass *hotspot_header(struct hotspot *hotspot, const uint64_t head[3]);
uint64_t hotspot_size(struct hotspot *hotspot, const struct klass *klass,
		      uint64_t addr, const uint64_t head[3]);
void hotspot_describe(struct hotspot *hotspot, struct klass *klass,
		      uint64_t start, uint64_t size, uint64_t addr,
		      struct component *ret);

/* hotspot_space.c: the part of the heap that @addr lies in; false: none. */
bool hotspot_space(struct hotspot *hotspot, uint64_t addr,
		   struct hotspot_space *ret);
/* Is @addr in memory that a thread keeps for its next objects?  Its end. */
uint64_t hotspot_piece(struct hotspot *hotspot, uint64_t addr);
/* The start of the piece that is in use around @addr; 0: none. */
uint64_t hotspot_piece_start(struct hotspot *hotspot, uint64_t addr);
/* Does such a piece's part that is in use end at @addr? */
bool hotspot_is_newest(struct hotspot *hotspot, uint64_t addr);

/*
 * hotspot_parse.c: the first address from @from to @last where objects follow
 * one another, or 0.
 */
uint64_t hotspot_search(struct hotspot *hotspot,
			const struct hotspot_space *space, uint64_t from,
			uint64_t last);
/* The object around @addr, by its neighbours, or NULL. */
struct klass *hotspot_parse(struct hotspot *hotspot, uint64_t addr,
			    uint64_t *start, uint64_t *size);
/* Are objects being moved, or were they since the last answer? */
void hotspot_moved(struct hotspot *hotspot);
/* hotspot_scan.c */
int hotspot_each(struct hotspot *hotspot, const struct scan *scan);

/*
 * hotspot_made.c: is an object being made at @start, so that its class is that
 * of something dead which lay there?
 */
bool hotspot_is_made(struct hotspot *hotspot, const struct query *query,
		     const struct klass *klass, uint64_t start);
void hotspot_describe_made(const struct query *query, uint64_t start,
			   struct component *ret);
bool hotspot_is_zero(struct hotspot *hotspot, const struct query *query);
/*
 * A collection copies an object from its end to its beginning, where the class
 * is; a register holds the object that it is a copy of.
 */
bool hotspot_by_copy(struct hotspot *hotspot, const struct query *query,
		     struct component *ret);
/* Memory that a thread took for objects, and where none is yet. */
bool hotspot_by_piece(struct hotspot *hotspot, const struct query *query,
		      struct component *ret);

/* hotspot.c: does this collector's heap hold @addr? */
bool hotspot_in_heap(const struct hotspot *hotspot, uint64_t addr);

/* hotspot_meta.c: classes' and methods' own memory. */
void hotspot_meta(struct hotspot *hotspot, const struct query *query,
		  struct component *ret);
/* CLASS.METHOD of a Method; false: there is none at @method. */
bool hotspot_method(struct hotspot *hotspot, uint64_t method, char *text,
		    size_t size);

/* hotspot_code.c: the block of the code cache that holds @addr. */
bool hotspot_blob(struct hotspot *hotspot, uint64_t addr, uint64_t *start,
		  uint32_t *size);
bool hotspot_code(struct hotspot *hotspot, uint64_t addr,
		  struct component *ret);

static inline bool hotspot_word(struct hotspot *hotspot, uint64_t addr,
				uint64_t *ret)
{
	return pages_words(hotspot->pages, addr, ret, 1);
}

static inline bool hotspot_int(struct hotspot *hotspot, uint64_t addr,
			       uint32_t *ret)
{
	return pages_read(hotspot->pages, addr, ret, sizeof(*ret)) == 0;
}

static inline bool hotspot_short(struct hotspot *hotspot, uint64_t addr,
				 uint16_t *ret)
{
	return pages_read(hotspot->pages, addr, ret, sizeof(*ret)) == 0;
}
