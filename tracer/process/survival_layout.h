/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * survival_layout - what the survival handler and the tracer share
 *
 * The handler runs in the traced process, so only shapes are here: no
 * function of ours can be called from there.
 *
 *	shared   pages of a memfd, mapped by both: written at no system call
 *	own      a page of the process alone, so that a forked child has its
 *own, at SCRATCH_OWN from the page of the code
 */

#include <sys/user.h>

#include "tracer/process/signals.h"

enum {
	SURVIVAL_RANGES = 1 << 16, /* more mappings the kernel seldom permits */
	SURVIVAL_BLOCKED = 4096,
};

struct survival_range {
	uint64_t start, end;
	uint64_t prot; /* the program's own PROT_* */
};

struct survival_table {
	uint64_t count;
	struct survival_range range[SURVIVAL_RANGES];
};

/*
 * A write that we make for a thread which has not been moved on.
 */
struct survival_journal {
	uint32_t valid;
	uint32_t size;
	uint64_t ip, sp; /* of the thread, before */
	uint64_t tid;	 /* in its own pid namespace; 0: the one at sp */
	uint64_t addr;
	uint8_t old[64];
};

/* Of the handler that a thread is in. */
struct survival_frame {
	uint64_t at;  /* 0: in none that we know */
	uint64_t low; /* end of the stack, or 0 */
	uint64_t restorer, fpstate;
};

enum { SURVIVAL_FPSTATE = 29 }; /* words from the restorer */

/* A thread that believes that it blocks SIGSEGV, and what else it blocks. */
struct survival_blocked {
	uint64_t mask;
	struct survival_frame frame;
	uint64_t tid; /* in its own pid namespace; 0: free */
};

/* How a thread that works for us goes on by itself. */
struct survival_way_back {
	uint8_t stack[32768]; /* a signal may come on the way */
	struct user_regs_struct regs;
	uint64_t mask;
	uint64_t tid; /* who has it all but the mask; 0: nobody */
};

struct survival_shared {
	/* A robust futex: the tracer's tid, and FUTEX_OWNER_DIED once the
	 * tracer is dead.  The kernel says so before it lets threads go. */
	uint32_t owner;
	uint32_t current; /* which table is true */
	struct survival_journal journal;
	struct survival_table table[2];
	struct survival_blocked blocked[SURVIVAL_BLOCKED];
	struct survival_way_back way_back;
};

enum survival_state {
	SURVIVAL_CLOSED, /* nobody has opened the pages */
	SURVIVAL_OPENING,
	SURVIVAL_OPEN,
};

struct survival_own {
	struct survival_shared *shared; /* where the process has it */
	struct disposition program;	/* the program's own, of SIGSEGV */
	uint32_t state;
	uint64_t opened_ns; /* monotonic; set before SURVIVAL_OPEN */
};
