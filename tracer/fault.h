/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fault - what the files for faults share
 */

#include "tracer/session.h"

/* A decoded instruction, kept by its address. */
struct decoded {
	struct insn insn;
	int result;	/* of insn_decode() */
	bool stable;	/* lies in memory that nobody may write */
	uint8_t vain;	/* runs ahead from here in a row that had no access */
	uint8_t waited; /* stops here since the last of them */
	uint8_t bytes[INSN_BYTES];
	unsigned nbytes;
};

/*
 * The instruction at @ip.  0, or -EFAULT if its bytes cannot be read; whether
 * they decode is told by (*ret)->result.
 */
int fault_decode(struct session *session, uint64_t ip,
		 struct decoded **ret) _must_check_;

/*
 * Bytes from @ip on whose code only its own process could change, and only by
 * calls that we see (maps_constant()).  0: it may change.
 */
size_t fault_stable(struct session *session, uint64_t ip);

/* Forget all: an executable mapping changed. */
void fault_forget(struct session *session);

/*
 * The program's memory for execute_run(): forces closed pages, but keeps to
 * the rights that the program has (a page that it made read-only is so).
 */
struct memory fault_memory(struct session *session);

/* May the program itself access [addr, addr+size) like this (PROT_*)? */
bool fault_allowed(struct session *session, uint64_t addr, uint64_t size,
		   int prot);

/*
 * A fault may be queued behind an interrupt, which is told before a signal:
 * the thread stands still, but its fault will be told only when it goes on.
 */
bool fault_waits(const struct thread *thread);

/* Stopped by a fault on a page of ours that nobody has handled yet. */
bool fault_is_told(const struct session *session, const struct thread *thread);
