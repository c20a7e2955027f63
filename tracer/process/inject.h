/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * inject - run system calls in a stopped thread, and leave no trace
 *
 * inject_begin() keeps the registers, inject_call() blocks the signals of the
 * thread and runs one system call, inject_end() puts everything back: the
 * thread stands where it stood, also at the entry of a system call, and a call
 * that waits to be restarted still does.
 *
 * The signal of a signal stop is lost by an injection.  It must be one that
 * was to be swallowed (our own fault), or inject_signal() queues it again.
 */

#include "tracer/process/process.h"

struct injection {
	struct thread *thread;
	struct user_regs_struct saved;
	uint64_t mask;
	bool at_entry, at_exec;
	bool used; /* the call that stood at its entry was replaced */
};

int inject_begin(struct injection *injection,
		 struct thread *thread) _must_check_;

/* *@result is what the kernel returned: -4095..-1 are its errors. */
int inject_call(struct injection *injection, long number,
		const uint64_t args[6], int64_t *result) _must_check_;

int inject_end(struct injection *injection) _must_check_;

/* Registers of ours, with which the thread will run in the scratch memory; all
 * its signals are blocked then. */
int inject_set(struct injection *injection,
	       const struct user_regs_struct *regs) _must_check_;

/*
 * Resume a thread in the middle of an injection and wait for its next stop.
 * A SIGSTOP is delivered on the way; the group stop that it must come back to
 * later is noted.
 * -ESRCH also if another thread exec'ed: that stop is parked.
 */
int inject_resume(struct thread *thread, enum trace_resume how,
		  struct stop *ret) _must_check_;

/*
 * The same with the signal of its stop, by a step: if it has a handler, the
 * next stop (SIGTRAP, not a signal) comes before the first instruction of that.
 */
int inject_deliver(struct thread *thread, int signal,
		   struct stop *ret) _must_check_;

/*
 * The same without a signal until @arrived says so.  All signals are blocked,
 * so what comes between is an interrupt of ours, job control, or what nothing
 * blocks.
 */
int inject_run(struct thread *thread, enum trace_resume how,
	       bool (*arrived)(const struct stop *stop, void *context),
	       void *context) _must_check_;

/* Is its stop the entry of a system call? */
bool inject_at_entry(const struct thread *thread);

/* It is stopped where calls can be injected, and nothing is lost by them. */
bool inject_possible(const struct thread *thread);

/* A stopped thread whose stop does not carry a signal, or NULL. */
struct thread *inject_thread(struct process *process);

/*
 * Map our scratch memory (once), and learn the dispositions of the signals
 * that the process catches.
 */
int inject_scratch(struct injection *injection) _must_check_;
int inject_unscratch(struct injection *injection);
int inject_dispositions(struct injection *injection) _must_check_;

/* Private memory that may be read and written. */
int inject_map(struct injection *injection, uint64_t size,
	       uint64_t *start) _must_check_;

int inject_protect(struct injection *injection, uint64_t start, uint64_t end,
		   int prot) _must_check_;

/* The same for rights that it had, which RLIMIT_DATA may not permit now. */
int inject_protect_back(struct injection *injection, uint64_t start,
			uint64_t end, int prot) _must_check_;

/* The same for many ranges, for one stop each hundred. */
struct protect {
	uint64_t start, end;
	int prot;
	int result; /* of this one: 0 or -errno */
};
int inject_protect_all(struct injection *injection, struct protect *list,
		       size_t count) _must_check_;

/* sigaltstack(2) of the thread: base and size, 0 if it has none. */
int inject_altstack(struct injection *injection, uint64_t *base,
		    uint64_t *size) _must_check_;

/* rt_sigaction(2): what is set now. */
int inject_ask_disposition(struct injection *injection, int signal,
			   struct disposition *ret) _must_check_;
/* rt_sigaction(2): put a disposition back. */
int inject_disposition(struct injection *injection, int signal,
		       const struct disposition *disposition) _must_check_;

/* Queue the signal of a signal stop again, with its siginfo untouched. */
int inject_signal(struct injection *injection,
		  const siginfo_t *info) _must_check_;

/* The same for its process: any of its threads may take it. */
int inject_signal_process(struct injection *injection,
			  const siginfo_t *info) _must_check_;

/* Parts of the scratch memory, from scratch.start. */
enum {
	SCRATCH_CODE = 0,      /* "syscall", and the load of the self-test */
	SCRATCH_RETURN = 2,    /* with a survival handler: the way back */
	SCRATCH_LOAD = 16,     /* offset of that load: mov rax, [rdi] */
	SCRATCH_LOOP = 32,     /* of the loop of inject_protect_all() */
	SCRATCH_HANDLER = 128, /* of survival_code.c */
	SCRATCH_STUBS = 2048,  /* of landing.h, and their data */
	SCRATCH_DATA = 4096,   /* arguments of injected calls */
	SCRATCH_PROBE = 8192,  /* the page that the self-test closes */
	SCRATCH_LANDING = 12288,
	SCRATCH_OWN = 16384,  /* struct survival_own */
	SCRATCH_ROOM = 20480, /* buffers of moved system calls */
	SCRATCH_SIZE = SCRATCH_ROOM + 256 * 1024,
};
