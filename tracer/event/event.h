/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event - what is reported, as plain values
 *
 * Knows values only: no process, no ptrace.  record.h turns them into JSON.
 */

#include <sys/types.h>
#include <time.h>

#include "base/buffer.h"

enum { EVENT_SHOWN = 64, EVENT_FRAMES = 256, EVENT_CLASS = 512 };

enum event_op {
	EVENT_READ = 1,
	EVENT_WRITE = 2,
	EVENT_RW = 3,
};

/* One frame of a call stack, named. Strings may be NULL. */
struct event_frame {
	uint64_t ip;
	const char *function; /* demangled */
	uint64_t offset;      /* of ip in function */
	bool inlined;	      /* into the next one, whose ip it has */
	const char *module;
	const char *file;    /* as the compiler was told */
	unsigned line;	     /* 0: not known */
	const char *runtime; /* that runs the function; NULL: native code */
	bool guessed;	     /* there may be others between it and the last */
};

/*
 * The logical component; strings may be NULL or empty: then left out.  Only
 * name and member may hold any bytes, the others are plain words of ours.
 */
struct event_component {
	const char *kind;
	const char *runtime;
	const char *name; /* "class" for objects, "name" for the others */
	const char *member;
	const char *how;
	const char *confidence;
	uint64_t start;
	uint64_t size; /* 0: unknown, left out */
	uint64_t offset;
};

struct event_access {
	uint64_t seq;
	uint64_t insn_seq; /* the same for all operands of one instruction */
	struct timespec time;
	pid_t pid, tid;
	const char *comm;

	enum event_op op;
	uint64_t addr;
	uint64_t size;	/* bytes */
	uint32_t count; /* rep: elements; 1 is left out */
	uint64_t ip;
	const char *insn;     /* text; NULL: not decoded */
	const uint8_t *bytes; /* raw instruction, for insn == NULL */
	unsigned nbytes;
	const char *how; /* "native" ...; kernel: "compared" or NULL */

	uint32_t shown; /* bytes in old and new; 0: unknown */
	const uint8_t *old;
	const uint8_t *new; /* left out for EVENT_READ */

	const char *syscall; /* not NULL: by the kernel */

	struct event_component component;

	uint64_t stack;			 /* the number of its record; 0: none */
	const struct buffer *stack_text; /* of record_frames(), or NULL */
};

/* A thread at some moment. */
struct event_sample {
	struct timespec time;
	pid_t pid, tid;
	const char *comm;
	const char *state; /* running, or sleeping: in a system call */
	uint64_t stack;	   /* as in the access */
	const struct buffer *stack_text;
};

/* A guarded or refused range, for the record "armed". */
struct event_range {
	const char *watch; /* the user's text; NULL: the default watch */
	uint64_t start, end;
	const char *component; /* symbol, class, "[heap]", path; may be NULL */
	const char *refused;   /* why not; NULL: it is guarded */
};

struct event_armed {
	pid_t pid;
	const char *state; /* "armed", or "pending" where nothing is yet */
	const struct event_range *ranges;
	size_t nranges;
	const char *const *pending; /* watches that may still appear */
	size_t npending;
	uint64_t pages;
	const char *const *blind; /* accesses that cannot be seen */
	size_t nblind;
	const char *self_test; /* "seen", or why there was none */
};

struct event_header {
	const char *version;
	const char *const *command; /* our own command line, NULL-terminated */
	pid_t pid;
	const char *executable; /* of the target */
	const char *host;
	struct timespec start;
	/* options in force */
	const char *const *watches; /* NULL-terminated; empty: the default */
	const char *on;		    /* read write all */
	const char *policy;	    /* every first sample */
	double hz;		    /* of sample; else 0 */
	double stack_hz;	    /* of -F; 0: none */
	bool stacks;
	bool exit_kill;	      /* the target dies with the tracer */
	bool survives;	      /* it lives on unharmed if the tracer is killed */
	const char *syscalls; /* how they are seen: seccomp ptrace */
	const char *follow;   /* one-log log-each; NULL: children are not */
	const char *const *runtimes; /* NULL-terminated; empty: all */
	bool list;		     /* of all objects, and no accesses */
	const char *births;	     /* exact; NULL: by scans */
};

/* A runtime that was found in a process. */
struct event_runtime {
	pid_t pid;
	const char *name;
	const char *version;	  /* "": not known */
	const char *how;	  /* module object */
	const char *module;	  /* path; NULL: none */
	const char *const *tells; /* NULL-terminated, as the next */
	const char *const *lacks; /* what it cannot tell */
	const char *reason;	  /* why it tells nothing; "": it does */
};

/* All objects of one class, under --list. */
struct event_class {
	pid_t pid;
	const char *runtime, *name;
	uint64_t count, bytes;
};

/* What --list went through. */
struct event_list {
	uint64_t classes, objects, bytes;
	uint64_t copied;  /* bytes, in the stop */
	uint64_t scanned; /* bytes, after it */
	double seconds;	  /* that this took */
};

/* A count in the summary's by_class. */
struct event_class_count {
	const char *kind, *name; /* as in the component */
	const char *op;
	uint64_t count;
};

/* One of several processes that are in a log. */
struct event_process {
	pid_t pid;
	uint64_t events;
	const char *end; /* as in the summary */
	int status;
};

/* A call stack that accesses name by its number. */
struct event_stack {
	uint64_t id; /* of this log, from 1 on */
	pid_t pid;
	const struct buffer *text; /* of record_frames() */
};

/* Call stacks that were walked. */
struct event_stacks {
	uint64_t walked;
	uint64_t fresh, reused; /* frames: unwound, and known from before */
	uint64_t by_libunwind;	/* walks that no rule could do */
	uint64_t rules;		/* learnt */
	uint64_t reads;		/* of the process's memory */
	double mean;		/* seconds a walk */
	bool verify;
	uint64_t mismatches; /* with verify: false ones */
};

struct event_summary {
	struct timespec time;
	uint64_t events; /* access records written */
	/* accesses */
	uint64_t performed, run_ahead, stepped, unknown, neighbours, kernel;
	uint64_t lost;
	uint64_t faults;      /* stops on guarded pages */
	uint64_t own_signals; /* the target's own SIGSEGV, passed on */
	uint64_t born_unseen; /* objects found only by a later scan */
	uint64_t unexplained; /* records of that type */
	uint64_t slices;      /* of --sample */
	double stack_hz;      /* of -F; 0: none */
	uint64_t samples;     /* records of that type */
	uint64_t unsampled;   /* that a thread was not looked at */
	unsigned filters;     /* of seccomp, put into the target */
	/* system calls that ran with guarded pages open, by reason */
	const struct event_count *unseen;
	size_t nunseen;
	const struct event_class_count *classes; /* most frequent first */
	size_t nclasses;
	uint64_t classes_left_off;	   /* accesses of classes not listed */
	const struct event_stacks *stacks; /* NULL: none */
	const struct event_list *list;	   /* likewise */
	double wall, stopped;		   /* seconds */
	const char *end; /* exited killed detached duration max-events
			    interrupted reader-gone */
	/* those of the log, if it may have more than one */
	const struct event_process *processes;
	size_t nprocesses;
	uint64_t processes_left_off;
	int status; /* exit status or signal; -1: still runs */
};

struct event_count {
	const char *reason;
	uint64_t count;
};
