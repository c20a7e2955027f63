/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tracer - start or attach, the loop, detach
 *
 * The whole job behind two calls.  Neither prints nor exits; whatever happens
 * the target's pages get their rights back before they return.
 */

#include "base/error.h"
#include "tracer/options.h"

struct outcome {
	bool ended; /* the program ended: status is its wait status */
	int status; /* as of waitpid(2) */
	const char *unmatched; /* a watch that never found anything, or NULL */
};

enum tracer_error {
	TRACER_NOT_FOUND = 127,	     /* clsrun: no such program */
	TRACER_NOT_EXECUTABLE = 126, /* clsrun: it cannot be executed */
	TRACER_FAILED = 125,
};

/*
 * Run @program (argv[0] is looked up in PATH) to its end.  0 with *@ret, or
 * an enum tracer_error with the sentence in @err and nothing left running.
 */
int tracer_run(const struct options *options, char *const argv[],
	       struct outcome *ret, struct error *err);

/* Trace the process @pid until it ends or a limit or signal says stop. */
int tracer_attach(const struct options *options, pid_t pid, struct outcome *ret,
		  struct error *err);
