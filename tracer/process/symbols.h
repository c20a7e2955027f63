/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * symbols - the ELF modules of one process, their symbols both ways
 *
 * Names are as the linker knows them (mangled); demangle() makes them
 * readable.  Files are opened through /proc/PID/map_files or /proc/PID/root,
 * so that a deleted or replaced file and another mount namespace give the
 * right bytes.  Tables are loaded at the first question to a module.  Reads
 * .symtab, .dynsym, .gnu_debugdata, and a separate debug file found by
 * build-id under /usr/lib/debug.  Modules and names that were given out stay
 * valid until symbols_free(), also after their library was unloaded.
 *
 * Hostile files are expected: every offset and count is checked.
 */

#include <sys/types.h>

#include "base/error.h"
#include "tracer/process/lines.h"
#include "tracer/process/locals.h"
#include "tracer/process/maps.h"
#include "tracer/process/types.h"

struct module {
	uint64_t start; /* lowest address of its PT_LOADs in the process */
	uint64_t end;	/* one past the highest, by p_memsz (.bss included) */
	uint64_t bias; /* address in the process = bias + address in the file */
	const char *path; /* as in maps */
	const char *name; /* base name; "vdso" */

	uint64_t text_start, text_end;	 /* executable PT_LOADs */
	uint64_t relro_start, relro_end; /* constant once loaded; 0: none */
	uint64_t eh_frame_hdr, eh_frame_hdr_size; /* in the process; 0: none */
};

struct symbol {
	const char *name; /* mangled; lives as long as the struct symbols */
	uint64_t addr;	  /* in the process */
	uint64_t size;	  /* 0: not told by the file */
	bool function;	  /* else data */
	const struct module *module;
};

struct symbols;

int symbols_new(pid_t pid, struct symbols **ret) _must_check_;
void symbols_free(struct symbols *symbols);
DEFINE_CLEANUP(symbols)

/* Its files are looked up through this thread's /proc from now on. */
void symbols_follow(struct symbols *symbols, pid_t tid);

/* Take over a new snapshot; modules that stay keep their tables. */
int symbols_update(struct symbols *symbols,
		   const struct maps *maps) _must_check_;

/* Counts up whenever symbols_update() found modules come or gone. */
unsigned symbols_generation(const struct symbols *symbols);

/* The modules, in address order. */
size_t symbols_modules(const struct symbols *symbols,
		       const struct module *const **ret);
const struct module *symbols_module(const struct symbols *symbols,
				    uint64_t addr);

/*
 * The symbol that covers @addr (or, if its size is 0, the nearest below in
 * the same section).  Of aliases the global one, then the shortest name.
 * 0 or -ENOENT.
 */
int symbols_at(struct symbols *symbols, uint64_t addr, struct symbol *ret);

/*
 * All variables that the program's debug information tells of, their
 * addresses those in the process, until @visit != 0.
 */
int symbols_variables(struct symbols *symbols,
		      int (*visit)(void *context,
				   const struct variable *variable),
		      void *context);

/*
 * The thread-local variable at @offset of each thread's block of @module, its
 * addr an offset likewise.  0 or -ENOENT.
 */
int symbols_thread(const struct module *module, uint64_t offset,
		   struct symbol *ret);

/* The size of that block, and its alignment; 0: there is none. */
uint64_t symbols_thread_size(const struct module *module, uint64_t *align);

/* The type of what symbols_thread() gave, or NULL. */
struct type *symbols_thread_type(const struct symbol *symbol);

/* The source of @addr, as lines_at() tells it. */
size_t symbols_lines(struct symbols *symbols, uint64_t addr, struct line *ret,
		     size_t max);

/* The type of the variable that @symbol names; NULL: nobody tells. */
struct type *symbols_type(struct symbols *symbols, const struct symbol *symbol);

/* The variable on a stack, as locals_at() tells it of the frame at @addr. */
bool symbols_local(struct symbols *symbols, uint64_t addr, int64_t offset,
		   struct local *ret);

/*
 * The class @name (spelling.h) as the module that has @addr defines it, or
 * else the program; NULL: nobody tells.
 */
struct type *symbols_class(struct symbols *symbols, uint64_t addr,
			   const char *name);

/*
 * Symbols named @name (mangled, or demangled as people write it), in modules
 * whose name is @library or begins with it and a dot or dash (NULL: in all).
 * Undefined symbols do not count.  Returns how many there are; the first
 * @max are stored.  Distinct addresses only.
 */
size_t symbols_named(struct symbols *symbols, const char *library,
		     const char *name, struct symbol *ret, size_t max);

/* Up to @max data symbols whose names are nearest to @name (edit distance). */
size_t symbols_near(struct symbols *symbols, const char *name,
		    struct symbol *ret, size_t max);

/* Every symbol whose mangled name begins with @prefix, until @visit != 0. */
int symbols_each(struct symbols *symbols, const char *prefix,
		 int (*visit)(void *context, const struct symbol *symbol),
		 void *context);
