/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * options - what the user asked for, as plain values
 *
 * Filled by cmd/, read by the tracer.  Strings are the caller's.
 */

#include <sys/types.h>

#include "base/macro.h"

enum policy {
	POLICY_DEFAULT, /* every for narrow watches, sample for broad ones */
	POLICY_EVERY,	/* each access */
	POLICY_FIRST,	/* the first access of each page, then it is opened */
	POLICY_SAMPLE,	/* as first, closed again hz times a second */
};

/* What becomes of children. */
enum follow {
	FOLLOW_NONE, /* they run untraced */
	FOLLOW_ONE_LOG,
	FOLLOW_LOG_EACH,
};

/* Where a call stack is written. */
enum stacks_form {
	STACKS_BY_LOG, /* in a file once, else inline */
	STACKS_INLINE, /* in each record */
	STACKS_ONCE,   /* in a record of its own, named by its number */
};

struct options {
	const char *const *watches; /* -w texts */
	size_t nwatches;
	uint8_t on; /* ACCESS_READ | ACCESS_WRITE bits that are events */
	enum policy policy;
	double hz;	   /* of POLICY_SAMPLE; 0: the default */
	bool no_run_ahead; /* one access a stop */
	bool no_syscalls;  /* what they touch is counted, no event */
	bool births_exact; /* of objects: seen as they are made, not later */
	bool list;	   /* no access: all objects there are, once */

	bool stacks; /* -k */
	enum stacks_form stacks_form;
	unsigned depth;	    /* of a stack */
	double stack_hz;    /* of samples of all threads; 0: none */
	bool verify_stacks; /* each beside one that nothing is known of */

	uint64_t max_events; /* 0: no limit */
	double duration;     /* seconds from armed; 0: no limit */

	bool exit_kill; /* the program dies with us, instead of living on */
	bool survive;	/* it lives on unharmed; not run ahead then */

	unsigned runtimes; /* bits of runtime_bit(); 0: all */

	enum follow follow;
	/* -o: %p is a process's number, %% a percent sign; NULL: standard
	 * output.  With a log for each process there is a %p in it. */
	const char *output;
	int verbose;			 /* -v counts up, -q counts down */
	const char *const *command_line; /* our own argv, for the header */
};
