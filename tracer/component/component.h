/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * component - what a piece of memory is to the user
 *
 * "Determining a class name of an object targeted by the process via the
 * particular instruction" (US 8,769,250): an address and the registers of the
 * instruction in, class and member out, and always how we know.  Runtimes are
 * asked in turn; the best confidence wins, CONFIDENCE_EXACT ends the search,
 * and the plain one (symbol, heap block, stack, mapping) always answers.
 *
 * Everything is read from memory that a hostile or broken target controls:
 * every loop is bounded, every pointer checked, no string trusted to end.
 */

#include <sys/types.h>

#include "base/caller.h"
#include "base/memory.h"
#include "tracer/component/managed.h"
#include "tracer/process/maps.h"
#include "tracer/process/member.h"
#include "tracer/process/symbols.h"

enum confidence {
	CONFIDENCE_NONE,
	CONFIDENCE_GUESS,
	CONFIDENCE_LIKELY,
	CONFIDENCE_EXACT,
};

/* A frame of a thread's stack. */
struct stack_place {
	uint64_t ip;	/* within the instruction where its function is */
	uint64_t start; /* its lowest byte; 0: not known */
	uint64_t cfa;	/* one past its highest */
	bool guessed;	/* it may be another's, see unwinder.h */
};

enum { COMPONENT_NAME = 512, COMPONENT_MEMBER = 160 };

struct query {
	uint64_t addr; /* what was touched */
	uint64_t size; /* bytes */
	bool write;
	uint64_t ip, sp;
	uint64_t fs_base;
	uint64_t candidates[4]; /* likely object starts, best first */
	unsigned ncandidates;
	const uint64_t *registers; /* 16, weak hints; NULL if unknown */

	/*
	 * The frame that has @addr, of the thread that touches it.  False: it
	 * is in none; NULL: nobody knows.
	 */
	bool (*place)(void *context, uint64_t addr, struct stack_place *ret);
	void *context;
};

struct component {
	const char *kind;    /* object global block stack file tls anon code
				metadata */
	const char *runtime; /* "c++", "c"; static strings */
	const char *how;     /* vtable rtti symbol chunk map ... */
	enum confidence confidence;
	uint64_t start, size; /* of the object; size 0: unknown */
	uint64_t class; /* its address, by resolver_objects(); 0: not told */
	char name[COMPONENT_NAME];     /* class, symbol, or path */
	char member[COMPONENT_MEMBER]; /* may be empty */
};

/* What the runtimes see of the process; owned by the caller. */
struct world {
	pid_t pid;
	struct memory memory;
	const struct maps *maps; /* replaced by the caller when it changes */
	struct symbols *symbols;
	unsigned runtimes; /* bits of runtime_bit(); 0: all */
	bool living; /* resolver_objects(): not what lies in free blocks */
};

/* What a runtime can tell in this process. */
enum {
	TELLS_CLASSES = 1, /* the class of what lies at an address */
	TELLS_MEMBERS = 2, /* the names of members */
	TELLS_OBJECTS = 4, /* all objects of a class */
	TELLS_FRAMES = 8,  /* functions of its own in a call stack */
	TELLS = 4,	   /* how many they are */
};

/* A runtime that is in the process. */
struct runtime_info {
	const char *name; /* "c++"; a static string */
	const struct module
		*module;  /* where it was found; NULL: by an object */
	char version[64]; /* empty: not known */
	unsigned tells;
	char reason[160]; /* why it tells nothing; empty: it does */
};

/*
 * The bit of the runtime that is called @name, for struct world; "none" has
 * one, too, and leaves only what needs no runtime.  0: there is none.
 */
unsigned runtime_bit(const char *name);

/* What runtime_bit() knows, for i from 0 on; NULL after the last. */
const char *runtime_name(size_t i);

struct resolver;

int resolver_new(const struct world *world, struct resolver **ret) _must_check_;
void resolver_free(struct resolver *resolver);
DEFINE_CLEANUP(resolver)

/* The target ran: forget what was read from its memory. */
void resolver_epoch(struct resolver *resolver);

/*
 * The same where all that it stored is told, so that the rest need not be read
 * again: resolver_stored() for each store, then resolver_went_on().
 */
void resolver_stored(struct resolver *resolver, uint64_t addr,
		     const void *bytes, size_t size);
void resolver_went_on(struct resolver *resolver);

/* Its map changed: modules may have come or gone. */
void resolver_remap(struct resolver *resolver);

/*
 * The next runtime that was found and not told of yet.  False: none.  Opens
 * what came since the last question.
 */
bool resolver_found(struct resolver *resolver, struct runtime_info *ret);

/* Always answers; at worst kind "anon" with confidence none. */
void resolver_resolve(struct resolver *resolver, const struct query *query,
		      struct component *ret);

/*
 * Every object in [start, end) whose class name matches the glob @class
 * (fnmatch(3) without flags), for watches and histograms.  What belongs to one
 * and lies elsewhere comes after it, with a member, and counts for no object.
 * Stops when @visit returns non-zero and returns that.
 */
int resolver_objects(struct resolver *resolver, uint64_t start, uint64_t end,
		     const char *class,
		     int (*visit)(void *context,
				  const struct component *object),
		     void *context);

/*
 * Class names that the process knows (vtables of its modules), whether they
 * have objects or not, until @visit != 0: for "no such class".
 */
int resolver_classes(struct resolver *resolver,
		     int (*visit)(void *context, const char *name),
		     void *context);

/* Is a runtime there whose classes are made while the program runs? */
bool resolver_grows(struct resolver *resolver);

/* Is a runtime there that may have functions in a call stack? */
bool resolver_has_frames(struct resolver *resolver);

/*
 * The functions of runtimes in a thread's call stack, into *@managed, which
 * has those of earlier questions (managed.h) or is empty.  False: none more.
 */
bool resolver_frames(struct resolver *resolver, const struct stack_query *query,
		     struct managed *managed);

/* The code that a runtime makes; false: there is none. */
bool resolver_code(struct resolver *resolver, struct code *ret);

/*
 * The bytes of the member @path ("pos.x", "mane[2]") of an object that
 * resolver_objects() gave: how many such members it has, at most @max of
 * which are stored.  0: none, or nobody tells.
 */
size_t resolver_member(struct resolver *resolver,
		       const struct component *object, const char *path,
		       struct extent *ret, size_t max);

const char *confidence_name(enum confidence confidence);
