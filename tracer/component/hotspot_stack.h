/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hotspot_stack - frames of Java in the call stack of a thread
 *
 * What the files hotspot_{frames,interpreter,nmethod,scopes,method}.c share.
 * A frame is of compiled code, whose size is constant and whose debug
 * information tells methods that were inlined there; of the interpreter, which
 * keeps method and place in it; or of code of the machine's own.
 */

#include "tracer/component/hotspot.h"

enum {
	JAVA_SITES = 1 << 15,
	JAVA_METHODS = 1 << 14,
	JAVA_LINES = 1 << 16,
	JAVA_SCOPES = 32, /* more are not inlined into each other */
	JAVA_CODELETS = 1024,
};

/* A method, as a Method in memory describes it. */
struct java_method {
	uint64_t addr;
	unsigned epoch; /* when it was last compared with memory */
	uint64_t print; /* of what tells it from another one in its place */
	uint32_t serial;
	uint64_t constant; /* its ConstMethod */
	uint64_t code;	   /* its bytecodes */
	uint32_t code_size;
	bool has_lines;
	char *name, *file; /* CLASS.METHOD; NULL: not known */
};

/* A block of the code cache. */
struct java_blob {
	uint64_t start;
	unsigned epoch; /* when it was last compared with memory */
	enum {
		JAVA_COMPILED,
		JAVA_WRAPPER, /* of a native method */
		JAVA_VTABLE,  /* leads to another method, without a frame */
		JAVA_STUB,
	} kind;
	uint64_t method; /* of a stub: the address of its name */
	uint32_t id;	/* of a compilation, which no other has; or its frame */
	uint32_t frame; /* bytes of a frame; 0: not known */
	uint64_t code;	/* what places in it are counted from */
	uint64_t entry, complete; /* where a frame begins, and is made */
	uint64_t stubs;		  /* from here on there is no method's code */
	uint64_t deopt[2];	  /* where a frame returns that is void */
	uint32_t deopt_place;	  /* of the true address in such a frame */
	uint64_t pcs, scopes, metadata;
	uint32_t npcs, nmetadata;
	char *name;
};

struct java_scope {
	char *function, *file;
	unsigned line;
	bool guessed;
};

/* An address of code, as a return address or not. */
struct java_site {
	struct java_blob *blob;
	bool is_call; /* as a return address, it is one */
	uint32_t serial;
	size_t count; /* of scopes, innermost first */
	struct java_scope scope[];
};

/* hotspot_nmethod.c: the block around @ip, or NULL. */
struct java_blob *hotspot_blob_at(struct hotspot *hotspot, uint64_t ip);
void hotspot_forget_blobs(struct hotspot *hotspot);
/* Is it what it was? */
bool hotspot_blob_holds(struct hotspot *hotspot, struct java_blob *blob);

/* hotspot_scopes.c: @ip and what was inlined there, or NULL. */
const struct java_site *hotspot_site(struct hotspot *hotspot, uint64_t ip,
				     bool is_return);
void hotspot_forget_code(struct hotspot *hotspot);

/* hotspot_method.c: the method at @addr, or NULL. */
const struct java_method *hotspot_method_at(struct hotspot *hotspot,
					    uint64_t addr);
/* The line of the bytecode at @bci; 0: not known. */
unsigned hotspot_line(struct hotspot *hotspot, const struct java_method *method,
		      uint32_t bci);
void hotspot_forget_methods(struct hotspot *hotspot);

/* UNSIGNED5 of OpenJDK: a number at *@addr, which moves on. */
bool hotspot_number(struct hotspot *hotspot, uint64_t *addr, uint32_t *ret);

/* hotspot_interpreter.c: has it made its frame at @ip? */
bool hotspot_in_interpreter(const struct hotspot *hotspot, uint64_t ip);
bool hotspot_interprets(struct hotspot *hotspot, uint64_t ip, bool is_return);

/* A frame that the interpreter has made. */
struct java_interpreted {
	const struct java_method *method;
	uint32_t bci;
	uint64_t rbp;
};

/*
 * The one whose frame pointer is @rbp.  @bcp: the place, or 0: as the frame
 * has it.  False: there is none.  @past: as in struct stack_query.
 */
bool hotspot_interpreted(struct hotspot *hotspot, const struct memory *past,
			 uint64_t rbp, uint64_t bcp,
			 struct java_interpreted *ret);
/* The one from @sp to its caller's @cfa, which it returns to at @ip, or 0. */
bool hotspot_find_interpreted(struct hotspot *hotspot,
			      const struct memory *past, uint64_t sp,
			      uint64_t cfa, uint64_t ip,
			      struct java_interpreted *ret);
/* Words of a stack. */
bool hotspot_stack(struct hotspot *hotspot, const struct memory *past,
		   uint64_t addr, uint64_t *word, size_t count);

/* hotspot_frames.c: for struct runtime. */
bool hotspot_caller(void *state, uint64_t ip, bool is_return,
		    struct caller *ret);
int hotspot_frames(void *state, const struct stack_query *query,
		   struct managed *managed);
