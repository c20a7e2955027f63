/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * landing - a thread loads one vector register itself, on its way back
 *
 * PTRACE_SETREGSET of the vector state costs as much as several stops where
 * the kernel's page tables are shadowed by a hypervisor: it maps a buffer.
 * Instead the thread goes on in our scratch memory, at a load of the register
 * and a jump to where it belongs.  Whenever it stops before it is there, we
 * finish that for it the slow way: nobody ever sees it there.
 */

#include "tracer/process/process.h"

enum { LANDING_CODE = 10, LANDING_VALUE = 32 };

struct landing_load {
	/* It ends with a displacement from rip, which is filled in. */
	uint8_t code[LANDING_CODE];
	uint8_t code_size;
	uint8_t value[LANDING_VALUE]; /* what it loads */
};

/*
 * @thread shall go on at @target after @load; @xstate is its whole vector
 * state after that.  0: *@ip is where it has to go on; 1: it must be done in
 * another way.
 */
int landing_begin(struct thread *thread, const struct landing_load *load,
		  uint64_t target, const void *xstate, size_t xstate_size,
		  uint64_t *ip) _must_check_;

/* It stands still: bring it to its target if it is not there yet. */
void landing_end(struct thread *thread);

void landing_free(struct thread *thread);
