/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * place - the processor that the tracer runs on
 *
 * A stop between two processors costs six times one on the same (65 us and
 * 10 us in the virtual machine of docs/kernel.md).  So the tracer follows the
 * thread that stops; the target stays where it is, it could tell.
 */

#include "tracer/process/process.h"

struct place {
	int cpu;	/* where we bound ourselves; -1: nowhere yet */
	unsigned stops; /* since we last looked */
};

/* @thread has stopped; looks now and then where it runs. */
void place_follow(struct place *place, struct thread *thread);
