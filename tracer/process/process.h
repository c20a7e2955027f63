/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * process - one traced address space and the threads that live in it
 *
 * A struct process is an address space: threads, and vfork children until
 * they exec, belong to the same one.
 *
 *	           seen in a clone event
 *	                   |
 *	                   v    first stop
 *	                  NEW ----------> STOPPED <---------+
 *	                                  |  |  ^           | next stop
 *	                           resume |  |  | queued    |
 *	                                  |  v  |           |
 *	                                  | PARKED <--+     |
 *	                                  v           |     |
 *	                               RUNNING -------+-----+
 *	                                       hold
 *	any --exit, SIGKILL, exec by another--> GONE
 *
 * A thread is STOPPED while its stop is being handled, PARKED when it was
 * stopped on behalf of another (thread_hold) and its own stop still waits to
 * be handled.  Only thread_set_state() changes it, and asserts the arrows.
 */

#include "base/table.h"
#include "tracer/process/maps.h"
#include "tracer/process/ptrace.h"
#include "tracer/process/signals.h"
#include "tracer/process/stop.h"
#include "tracer/process/survival.h"
#include "tracer/process/symbols.h"

enum thread_state {
	THREAD_NEW,
	THREAD_RUNNING,
	THREAD_STOPPED,
	THREAD_PARKED,
	THREAD_GONE,
};

struct landing;	    /* a register that it loads itself: landing.h */
struct inflight;    /* a system call whose buffers we moved: guard's */
struct kept;	    /* signals that are to be queued again: kept.h */
struct frames;	    /* of its handlers: frames.h */
struct interrupted; /* and what one touched that was broken off */
struct perf;	    /* samples of where it is: perf.h */

struct thread {
	pid_t tid;
	pid_t tgid; /* not the process's pid for a vfork child */
	struct process *process;
	enum thread_state state;
	struct stop stop; /* the last one */

	bool in_call;	  /* runs inside a call at whose exit it will stop */
	bool call_stays;  /* pages may be closed while it is in that call */
	bool perf_failed; /* it could not be made */
	bool woken;	  /* from a call, which it makes again; for samples */
	bool vforking;	  /* waits in the kernel for its vfork child */
	bool ended;	  /* a leader, found dead while others live */
	bool untold;	  /* before we came, so that nobody will tell */
	bool grouped;	  /* was in a group stop: EINTR is the kernel's own */
	bool regroup;	  /* left its group stop on our behalf */
	bool reinterrupt; /* an interrupt was taken away, likewise */
	bool reenters;	  /* a call again, with SIGSEGV not blocked */
	bool told;	  /* to stop, by process_hold() */
	bool raises;	  /* pages of session->reclose are open for its step */
	int owed;	  /* signal that was queued again: deliver it */
	bool stackless;	  /* no frame fits for what is owed */
	bool doomed;	  /* the SIGSEGV that it is given ends the process */
	bool mask_known;
	uint64_t mask;	      /* signals the program believes it blocks */
	bool lifted;	      /* but SIGSEGV is not blocked; lift.h */
	uint64_t own, shared; /* what waited, by queue: kept_look() */
	bool waits;	      /* a SIGSEGV of the program's is pending, maybe */
	bool enters;	      /* its next stop is at a handler's begin, maybe */
	pid_t inner;	      /* thread_inner(), once it was asked for */

	struct landing *landing;
	struct inflight *call;
	struct interrupted *interrupted;
	struct kept *kept;
	struct perf *perf;
	struct frames *frames;
	bool restarted;	  /* we made its call be made again */
	bool prodded;	  /* we interrupted it since a call of it ended */
	bool remade;	  /* once more, though we had not */
	uint64_t partial; /* bytes of its call until now; partial.h */
	uint64_t partial_args[6]; /* what that one was made with */
	int partial_vector;	  /* its number, if it has a vector; else 0 */
	uint64_t call_deadline;	  /* monotonic ns of a call's timeout, 0 none */
	uint64_t call_began; /* likewise when it was made first, 0 unseen */
	bool call_hidden;    /* --no-syscalls counted it */
	int last_call;	     /* number, for restart_syscall(2); -1 unknown */
	uint64_t last_args[6];
	struct disposition pending; /* of rt_sigaction(2), until it returns */
	bool asks;  /* in a call that shows or takes SIGSEGV's disposition */
	bool apart; /* a vfork child with dispositions of its own */
	bool sheds; /* and ours must be taken from it yet */

	/* Where the kernel writes for it, when last asked; 0 none. */
	uint64_t fs_base, rseq, altstack, altstack_size;
	bool rseq_known;
	uint64_t clear_tid; /* clear_child_tid if we saw it, 0 unknown */
	char comm[64];	    /* "" : to be read again */
};

/* Memory of ours in the process: code, buffers, and a page for the self-test.
 */
struct scratch {
	uint64_t start, size; /* 0: none */
};

struct process {
	pid_t pid;
	pid_t proc; /* process_proc(), when it was asked last */
	int mem;
	int pagemap;	/* process_pagemap(), once it was asked for; < 0 */
	uint64_t stack; /* where it began: what is forked has the same; 0: ? */
	unsigned long options; /* of ptrace, TRACE_* */
	bool seccomp;	       /* a thread of it has filters of its own */
	unsigned filters;      /* of ours in each thread; an exec keeps them */
	struct table threads;  /* tid -> struct thread */

	struct maps *maps;
	bool maps_stale;
	uint64_t remaps; /* counts up when maps is replaced */
	struct symbols *symbols;

	uint64_t syscall_insn; /* address of a syscall instruction, 0 unknown */
	struct scratch scratch;
	uint64_t landings; /* slots of landing.h that are taken */
	struct dispositions dispositions;
	struct survival survival;
};

/* It need not be stopped.  The process has no threads yet. */
int process_new(pid_t pid, struct process **ret) _must_check_;
void process_free(struct process *process); /* and its threads */
DEFINE_CLEANUP(process)

/* Where the stack of @pid began; 0 where that is not told. */
uint64_t process_stack(pid_t pid);

/* After an exec: another address space under the same pid. */
int process_exec(struct process *process) _must_check_;

/*
 * Whose files in /proc are the process's: the leader may have ended long ago.
 * A thread that stands still if there is one, so that it lives until they are
 * read.
 */
pid_t process_proc(struct process *process);

/* For mem_is_missing(); like mem it belongs to the address space. */
int process_pagemap(struct process *process);

/* No thread is left, but maybe a leader that had ended before we came. */
bool process_is_empty(const struct process *process);

/* Look whether it has seccomp filters by now. */
void process_note_seccomp(struct process *process);

/* Read the map again if it may have changed. */
int process_remap(struct process *process) _must_check_;

int process_add(struct process *process, pid_t tid,
		struct thread **ret) _must_check_;
void process_remove(struct process *process, struct thread *thread);
void thread_free(struct thread *thread); /* in no table any longer */

static inline struct thread *process_thread(const struct process *process,
					    pid_t tid)
{
	return table_get(&process->threads, (uint64_t)tid);
}

/* Memory of the process as a callback; forces closed pages. */
struct memory process_memory(struct process *process);

/* After its exec: what we knew of it is no longer so. */
void thread_forget(struct thread *thread);

/* Its number in its own pid namespace; 0: not known. */
pid_t thread_inner(struct thread *thread);

/* Have it stop, and a call of its own end by it. */
int thread_interrupt(struct thread *thread);

void thread_set_state(struct thread *thread, enum thread_state state);
bool thread_is_stopped(const struct thread *thread);
/* Is its state, of proc_pid_stat(5), one of these letters?  X: it is gone. */
bool thread_is_in_state(pid_t tid, const char *states);

/*
 * Stop every other running thread of @process, @except (or NULL) aside, and
 * park its stop.
 *
 * HOLD_USER leaves alone who is inside a system call that we saw begin: it
 * stops at the call's exit, before it touches memory.  (Interrupted, it would
 * make its call again, which for futexes means holding the others again.)
 * HOLD_ARM takes it out of the call unless pages may be closed under it, and
 * HOLD_ALL in any case.
 *
 * Threads that cannot be stopped because they sleep in the kernel without
 * being interruptible (vfork, disk) stay RUNNING in all cases: they have an
 * interrupt pending and stop before they touch memory again.
 */
enum hold { HOLD_USER, HOLD_ARM, HOLD_ALL };
int process_hold(struct process *process, const struct thread *except,
		 enum hold hold);

/*
 * Wait until who is inside a call that @is_meant stands at its exit; returns
 * whether anybody was.  It must be one that does not sleep.
 */
bool process_await_calls(const struct process *process,
			 bool (*is_meant)(int number));

/* What rt_sigaction(2) of a thread has set for @signal, though the stop at its
 * end is not told yet.  None begins meanwhile: its entry is a stop. */
void process_learn_disposition(struct process *process, int signal);

/*
 * Wait for the next stop of @thread, which was resumed by the caller.  -ESRCH:
 * it is gone, or dying: the end of a leader is told only when all its threads
 * were waited for, which the caller must not keep the loop from doing.
 */
int thread_wait(struct thread *thread, struct stop *stop) _must_check_;

/* A value of /proc/TID/status in the base given, or @fallback. */
uint64_t process_status(pid_t tid, const char *key, int base,
			uint64_t fallback);

/* The thread's name; read once. */
const char *thread_comm(struct thread *thread);
