/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watch - what the user wants, as addresses of one process
 *
 * Turns specs into watched bytes and into the pages that must be guarded for
 * them, less the pages that would kill the target (refusals).  Resolved anew
 * whenever the map changes; touches nothing in the target.
 */

#include "tracer/component/component.h"
#include "tracer/guard/guard.h"
#include "tracer/guard/spec.h"
#include "tracer/options.h"
#include "tracer/process/process.h"

/* Why pages are not guarded. */
enum refusal {
	REFUSED_STACK,
	REFUSED_TCB,
	REFUSED_ALTSTACK,
	REFUSED_RSEQ,
	REFUSED_SEQUENCE,
	REFUSED_ROBUST,
	REFUSED_TID,
	REFUSED_EXECUTABLE,
	REFUSED_READ_ONLY,
	REFUSED_KERNEL,	   /* mprotect said no */
	REFUSED_ASYNC,	   /* buffers of asynchronous I/O */
	REFUSED_OURS,	   /* our own memory in the target */
	REFUSED_USERFAULT, /* the program provides its pages itself */
	REFUSED_HUGE,	   /* of hugetlbfs */
	REFUSED_FUTEX,	   /* of calls, with --survive */
	REFUSED_ARGUMENTS, /* shown by /proc/PID/{cmdline,environ} */
	REFUSED_KINDS,
};

const char *refusal_name(enum refusal refusal);

struct watch {
	struct spec *spec; /* as many as the user gave; 0: the default watch */
	size_t *found;	   /* ranges of each */
	bool *met;	   /* under births: it had an access */
	size_t nspecs;
	bool broad;  /* all of them are */
	bool births; /* classes: all memory that may hold objects is watched,
			and each access judged by what lies there */

	struct ranges bytes;   /* watched; tag: number of the spec */
	struct ranges pages;   /* to be guarded; tag: PROT_* */
	struct ranges never;   /* pages of refusals; tag: enum refusal */
	struct ranges refused; /* wanted bytes among them; tag likewise */
	struct ranges minded;  /* pages that are guarded for what is stored
				  there; tag: of whom minds it */
	struct ranges stacks;  /* in use by threads; tag 0 */
	struct ranges newborn; /* of threads about to be born; tag 0 */
	struct ranges named;   /* may be guarded though stacks; tag 0 */
	bool no_stacks;	       /* the program is to survive us */
	uint64_t low;	       /* lowest guarded page of the stack that
				  grows; 0: that is not guarded */
	uint64_t born;	       /* class objects that only a later scan found */
};

int watch_init(struct watch *watch, const struct options *options,
	       struct error *err) _must_check_;
void watch_done(struct watch *watch);

/* These pages must not be guarded. 0 or -ENOMEM. */
int watch_refuse(struct watch *watch, uint64_t start, uint64_t end,
		 enum refusal why) _must_check_;

/* Is a stack watched by map:stack? */
bool watch_wants_stacks(const struct watch *watch);

/* A stack in use: guarded only if the user named it. 0 or -ENOMEM. */
int watch_stack(struct watch *watch, uint64_t start, uint64_t end) _must_check_;

/* The stack of a thread that is about to be born, for map:stack. */
int watch_newborn(struct watch *watch, uint64_t start,
		  uint64_t end) _must_check_;

/*
 * Find everything in the process as it is now.  A spec that can never match
 * is an error (-ENOENT, -EFAULT, -ENOTUNIQ) with the sentence, if @err.
 */
int watch_resolve(struct watch *watch, struct process *process,
		  const struct guard *guard, struct resolver *resolver,
		  struct error *err) _must_check_;

/* The number of the spec that wants [addr, addr + size), or -1. */
int watch_hit(const struct watch *watch, uint64_t addr, uint64_t size);

/*
 * Does the spec with that number, or under births another one of a class, want
 * an access to these bytes of @component?
 */
bool watch_wants(struct watch *watch, int spec, struct resolver *resolver,
		 const struct component *component, uint64_t addr,
		 uint64_t size);
