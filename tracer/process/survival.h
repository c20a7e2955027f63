/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * survival - a process that lives on when its tracer is killed
 *
 * While pages are closed, SIGSEGV has a handler of ours in the process, whose
 * code lies in its scratch memory.  A fault of ours stops the thread before a
 * handler runs, so it has nothing to do but to pass on the program's own
 * faults, until we are dead: then it gives the pages their rights back.
 *
 * Knows how to put the handler there and to take it away.  When, and what the
 * program is to see meanwhile, is the session's.
 */

#include <signal.h>
#include <sys/user.h>

#include "tracer/process/signals.h"

struct injection;
struct survival_frame;
struct survival_shared;
struct survival_table;

struct survival {
	struct survival_shared *shared; /* mapped here; NULL: none */
	uint64_t address;		/* of the same in the process */
	bool installed;			/* SIGSEGV has our handler */
};

/*
 * Memory that both see, and the code.  Needs the scratch memory; nothing if
 * it is there.  Not possible (no memfd, filters that we cannot suspend): the
 * reason as -errno, and nothing is changed.
 */
int survival_map(struct injection *injection) _must_check_;
int survival_unmap(struct injection *injection);

/* Forget the memory here: the process has another address space, or is gone. */
void survival_done(struct survival *survival);

/*
 * Our handler instead of @program, the disposition that the program has set.
 * It has the program's flags, so that its frame is where theirs would be.
 */
int survival_install(struct injection *injection,
		     const struct disposition *program) _must_check_;
/* And @program in its place again. */
int survival_remove(struct injection *injection,
		    const struct disposition *program) _must_check_;
/* What survival_install() sets. */
void survival_disposition(uint64_t scratch, const struct disposition *program,
			  struct disposition *ret);

/*
 * In a forked child: if the handler is ours there, the disposition that the
 * program had at the time of the fork.
 */
int survival_clean(struct injection *injection) _must_check_;

/*
 * The ranges that are ours: fill the table that is not in use, and make it
 * the one that is.  NULL: there is none.
 */
struct survival_table *survival_table(struct survival *survival);
void survival_publish(struct survival *survival);

/*
 * The journal: what the thread @tid, to itself, with @ip and @sp reads, in
 * case that it is written next.  From survival_write() to survival_end() the
 * handler undoes the write if the thread has not been moved on.
 */
void survival_begin(struct survival *survival, uint64_t ip, uint64_t sp,
		    pid_t tid);
void survival_read(struct survival *survival, uint64_t addr, const void *bytes,
		   size_t size);
void survival_write(struct survival *survival, uint64_t addr, size_t size);
void survival_end(struct survival *survival);

/*
 * The thread that is @tid to itself blocks @mask, as it believes, of which
 * SIGSEGV is not blocked.  @frame is of the handler that it is in, NULL: none.
 * -ENOSPC: there are too many.
 */
int survival_block(struct survival *survival, pid_t tid, uint64_t mask,
		   const struct survival_frame *frame) _must_check_;
void survival_unblock(struct survival *survival, pid_t tid);

/*
 * A thread is about to run in our code: it will have @regs and @mask again if
 * we are killed before we give them back.
 */
void survival_way_back(struct survival *survival,
		       const struct user_regs_struct *regs, uint64_t mask);
/* The thread @tid has the registers, but not the mask, which is this one. */
void survival_reenters(struct survival *survival, pid_t tid);
#define SURVIVAL_REENTERS (~signal_bit(SIGSEGV))

/* survival_code.c: the bytes to copy, and places in them. */
extern const uint8_t __start_cls_survival[], __stop_cls_survival[];
void survival_entry(void);
void survival_restorer(void);
void survival_return(void); /* the way back */
