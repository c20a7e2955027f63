/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * session - everything we know of one process, and its phases
 *
 *	          entry point reached, or all threads seized
 *	STARTING -----------------------------------------> ARMED
 *	   ^                                               ^  |  |
 *	   |  exec                                 re-arm  |  |  | slice is over
 *	   +------ any                                     |  |  v
 *	                                                  RESTING
 *	any --limit, signal, reader gone--> DRAINING (until all are detached)
 *
 * The files of this folder that take a struct session are its methods, each
 * for one kind of stop; only tracer.c resumes threads.
 */

#include "disasm/ahead.h"
#include "tracer/async.h"
#include "tracer/component/component.h"
#include "tracer/event/event.h"
#include "tracer/event/log.h"
#include "tracer/options.h"
#include "tracer/room.h"
#include "tracer/seccomp.h"
#include "tracer/stack.h"
#include "tracer/unexplained.h"
#include "tracer/watch.h"

enum phase {
	PHASE_STARTING, /* nothing guarded: waits for the entry point */
	PHASE_ARMED,
	PHASE_RESTING,	/* between two slices of --sample */
	PHASE_DRAINING, /* rights restored, threads are being detached */
};

enum verdict_kind {
	VERDICT_RUN,	/* resume, delivering signal if it is not 0 */
	VERDICT_LISTEN, /* stay in the group stop */
	VERDICT_GONE,	/* detached or dead: nothing to resume */
	VERDICT_AGAIN,	/* resumed already, or parked: leave it */
};

struct verdict {
	enum verdict_kind kind;
	int signal;
};

struct counts {
	uint64_t events; /* of this process alone */
	uint64_t faults, performed, run_ahead, stepped, unknown;
	uint64_t neighbours, kernel;
	uint64_t lost, own_signals, slices, born, unexplained;
	uint64_t samples, unsampled;
};

struct family;
struct newborn;

struct session {
	struct family *family; /* whom we trace beside it */
	struct session *next;
	const struct options *options;
	bool run; /* clsrun: the program is our child */
	bool broad;
	bool survives; /* the program, when we are killed */
	enum policy policy;
	double hz;

	enum phase phase;
	const char *end; /* why tracing ended, for the summary */
	bool ended;	 /* the program ended */
	int status;	 /* its wait status */

	struct process *process;
	struct table children;	 /* tid -> struct ranges: forked, to be freed */
	struct newborn *newborn; /* forked, and not heard of yet; follow.c */
	struct table idle;	 /* tid -> session: let go, but attached yet */
	struct sieve sieve;	 /* our seccomp filters */

	struct watch watch;
	struct guard guard;
	struct shadow shadow;  /* of the watched bytes, if they are few */
	struct ranges pinned;  /* open for calls that block; tag 0 */
	struct ranges reclose; /* open until the next thread comes back from
				  the kernel; none runs in user mode */
	unsigned pins;	       /* such calls */
	struct rooms rooms;    /* for moved buffers */

	struct world world;
	uint64_t world_remaps; /* process->remaps that world has seen */
	struct resolver *resolver;
	struct execute *execute; /* of the family, as ahead and names */
	struct insn_names *names;
	struct stacks stacks;
	uint64_t sample_ns;	/* when sleeping threads are looked at next */
	bool unwatching;	/* -F alone: nothing is guarded */
	bool unsampled_told;	/* that a thread is refused its events */
	uint8_t *xstate;	/* of the thread that is served */
	uint8_t *xstate_before; /* as it was */
	struct ahead *ahead;
	struct windows *windows; /* of the run ahead that is on, if any */
	uint64_t ahead_remaps; /* process->remaps that ahead_barred holds for */
	bool ahead_barred;     /* the program would notice */
	bool shadow_stack;     /* it has one; holds as long */
	struct table decoded;  /* ip -> struct decoded */
	bool rewrites;	       /* it may write its code, and nobody tells */
	bool unprivileged;     /* not told yet; privilege.h */
	bool userfaults;       /* it has, or had, a userfaultfd */
	struct ranges registered; /* with that, when last looked; tag 0 */
	struct async async;	  /* what its io_uring may touch */
	uint64_t decoded_remaps;  /* process->remaps that it holds for */

	struct log *log;    /* of the family, or its own: */
	struct log own_log; /* under -ff */
	struct counts counts;
	struct table classes;		/* hash -> struct class_count */
	struct class_count *last_class; /* of them */
	uint64_t uncounted;	/* accesses of more classes than are kept */
	struct table unseen;	/* hash of reason -> struct unseen_count */
	struct table functions; /* ip -> struct named_ip */

	int exec_failed;     /* pipe: closed by the exec, or why it failed */
	uint64_t entry;	     /* point that is awaited, 0 none */
	uint64_t entry_mask; /* the program's mask meanwhile */
	int entry_prot;	     /* rights of its page */
	bool entry_ignored;  /* SIGSEGV was ignored */
	bool armed_once;
	int self_test; /* 1 seen, 0 not made, < 0 failed */
	unsigned leave_tries;
	uint64_t leave_ns; /* when calls that could go on were still let */
	bool left_armed;   /* pages were closed when it was left */
	bool confined;	   /* nothing may be injected any longer */
	int failure;	   /* -errno that ends the session */
	const char *failed_at;
	struct error *err;
	/* The last answer of leave.c */
	pid_t scratch_needed_by;

	uint64_t began_ns, stopped_ns; /* monotonic */
	uint64_t ended_ns;
	uint64_t slice_ns, rest_ns; /* when they end */
	uint64_t arming_ns;	    /* that the slice took to begin */
	uint64_t rescan_ns;
	uint64_t slice_events;
	bool overdue; /* the slice ends when a thread comes to a stop */
	bool parked;  /* somebody may be parked */
	bool eager;   /* a stop that carries no signal is waited for */
};

/* A process more of @family, at the end of its list; @run: our child. */
int session_new(struct family *family, bool run, struct session **ret,
		struct error *err) _must_check_;
void session_free(struct session *session); /* in no family any longer */
DEFINE_CLEANUP(session)

/* Tracing cannot go on: the first reason, and where, are kept. */
void session_fail(struct session *session, int number, const char *where);

uint64_t session_now(void); /* monotonic, nanoseconds */

/* Is tracing over, so that stops are only passed on? */
static inline bool session_is_over(const struct session *session)
{
	return session->phase == PHASE_DRAINING;
}

/* Let the resolver see the process's map as it is now. */
int session_refresh(struct session *session) _must_check_;

/* arm.c: @work between inject_begin() and inject_end() on @thread. */
int session_inject(struct session *session, struct thread *thread,
		   int (*work)(struct session *session,
			       struct injection *injection)) _must_check_;

/* arm.c: stop all threads, find what is watched, close its pages. */
int session_arm(struct session *session, struct thread *injector) _must_check_;
/* Stop all threads and open all pages: the slice or the session is over. */
int session_disarm(struct session *session) _must_check_;
/* Close what was opened for one instruction or call again, on the time of
 * @thread; @opened is empty then. */
int session_close(struct session *session, struct thread *thread,
		  struct ranges *opened) _must_check_;
/* The map changed: let new memory join, forget what is gone. */
int session_rearm(struct session *session,
		  struct thread *injector) _must_check_;
/* Pages that must not be guarded any longer: open them for good. */
int session_refuse(struct session *session, struct thread *injector,
		   uint64_t start, uint64_t end, enum refusal why) _must_check_;

/* selftest.c: a load by a thread of the target that must be seen. */
int session_self_test(struct session *session,
		      struct injection *injection) _must_check_;

/* fault.c: a SIGSEGV on a guarded page. */
enum fault_answer {
	FAULT_OURS = 0,	  /* handled; the thread goes on */
	FAULT_THEIRS = 1, /* deliver the signal */
};
int session_fault(struct session *session, struct thread *thread,
		  const siginfo_t *info) _must_check_;

/* step.c: let the thread execute its one instruction, all others held. */
int session_step(struct session *session, struct thread *thread,
		 const struct insn *insn, const siginfo_t *info,
		 struct user_regs_struct *regs) _must_check_;

/* signal.c: a signal is about to be delivered. */
struct verdict session_signal(struct session *session, struct thread *thread);
/* The kernel forced @signal on a thread: put back what it changed. */
int session_unforce(struct session *session, struct thread *thread,
		    int signal) _must_check_;
/*
 * Did a SIGSEGV that was sent, and that the program blocks, come instead of a
 * fault of ours?  It is to wait on: keep it for later, or have it queued where
 * it was, and the thread stop anew.
 */
enum { KEEP_SWALLOWED = 1, KEEP_QUEUED = 2 }; /* 0: it is no such one */
bool session_replaced(const struct session *session,
		      const struct thread *thread, const siginfo_t *info);
int session_keep(struct session *session, struct thread *thread,
		 const siginfo_t *info) _must_check_;
/* Does nothing happen when @signal is delivered to @thread? */
bool session_ignores(const struct session *session, const struct thread *thread,
		     int signal);
/* Is there one that it will be stopped for at once? */
bool session_signal_waits(const struct session *session,
			  const struct thread *thread);
/* An interrupt of ours, or a signal that nobody handles, made a call return
 * EINTR: let it be made again. */
void session_restart(struct session *session, struct thread *thread,
		     bool delivers);

/* call.c: entry and exit of a system call. */
struct verdict session_call(struct session *session, struct thread *thread);
/* Close the pages of session->reclose on the time of @thread, stopped. */
void session_reclose(struct session *session, struct thread *thread);
/* Give back what a call of a thread that is gone had. */
void session_call_forget(struct session *session, struct thread *thread);

/*
 * tracer.c: all that becomes of a stop.  session_serve() is for what others
 * left behind when they were stopped.
 */
void session_handle(struct session *session, const struct stop *stop);
void session_serve(struct session *session);
void session_tick(struct session *session);
/* Give all rights back and detach; again later if it cannot be done now. */
void session_finish(struct session *session, const char *why);
/* Nothing is left to be done in it. */
bool session_is_done(const struct session *session);

/* birth.c: clone, fork, vfork, exec, and the first stop of a child. */
struct verdict session_clone(struct session *session, struct thread *thread);
struct verdict session_exec(struct session *session, struct thread *thread);
/* A stop of a thread or child that it expects, but did not know yet. */
void session_arrive(struct session *session, const struct stop *stop);
/* The same of one whose parent, of which it is a copy, did not tell of it. */
void session_orphan(struct session *session, const struct stop *stop);
/* The process is gone: nobody will tell of children still unheard of. */
void session_ended(struct session *session);

/* entry.c: stop an exec'ed program at its entry point. */
int entry_await(struct session *session, struct thread *thread) _must_check_;
bool entry_reached(const struct session *session, const siginfo_t *info);
/* Rights, mask and disposition back; nothing if none is awaited. */
int entry_leave(struct session *session, struct thread *thread) _must_check_;

/* report.c: records. */
struct effect_report {
	const struct effect *effect;
	const struct user_regs_struct *regs; /* before; NULL: by the kernel */
	const struct insn *insn;	     /* NULL: not decoded or kernel */
	const uint8_t *bytes;
	unsigned nbytes;
	const char *how;
	const char *syscall;
	uint64_t ip;
};
/* An event if the effect is watched, else a neighbour.  Returns whether. */
bool report_access(struct session *session, struct thread *thread,
		   const struct effect_report *report);
void report_header(struct session *session);
/* report_runtime.c: those that were found and not told yet. */
void report_runtimes(struct session *session);
/* The names that --runtime chose, NULL after the last; none: all. */
enum { RUNTIMES_CHOSEN = 16 };
void report_chosen(const struct options *options,
		   const char *ret[RUNTIMES_CHOSEN]);
void report_armed(struct session *session);
void report_closed(struct session *session, uint64_t start, uint64_t end,
		   const char *reason);
void report_signal(struct session *session, const struct thread *thread,
		   const siginfo_t *info, uint64_t ip);
void report_exec(struct session *session);
void report_fork(struct session *session, pid_t child, bool vfork);
/* It is over: for the summary of a log that has several. */
void report_process(struct session *session);
void report_summary(struct session *session);
/* The first watch, as the user wrote it, that found nothing, or NULL. */
const char *report_unmatched(const struct session *session);
void report_warning(struct session *session, const char *format, ...)
	_printf_(2, 3);
void report_unseen(struct session *session, const char *format, ...)
	_printf_(2, 3);
struct timespec report_time(void);
void report_done(struct session *session); /* frees its tables */

/*
 * frame_names.c: the frame of @ip, and before it those that are inlined in it,
 * into @ret; returns how many, at most @max.
 */
size_t frame_names(struct session *session, uint64_t ip, bool innermost,
		   struct event_frame *ret, size_t max);
void frame_names_forget(struct session *session);

/*
 * stack_text.c: the names of a call stack in process @pid: under --stacks=id
 * the number of its record, which is written if it has none; else its text,
 * valid until the next.  Neither is set without memory.
 */
void stack_tell(struct session *session, pid_t pid, const struct frame *frames,
		size_t count, const char *end, uint64_t *id,
		const struct buffer **text);
/*
 * The same without a walk, if nothing changed since the last stack of a thread
 * that is run ahead.  False: it has to be walked, and told.
 */
bool stack_tell_last(struct session *session, pid_t pid,
		     const struct user_regs_struct *regs, uint64_t *id,
		     const struct buffer **text);
/*
 * stack.c: the addresses of a stack of @memory, of which nothing is known from
 * before; else as stack_frames().
 */
size_t stack_frames_past(struct session *session,
			 const struct user_regs_struct *regs,
			 const struct memory *memory,
			 struct frame frames[EVENT_FRAMES], const char **end);
/* Its enum unwinder_end as records tell it. */
const char *stack_end_name(int end);
/*
 * stack_managed.c: of runtimes what stands in that stack, into stacks.managed,
 * for stack_tell(); native frames become others where only they know how code
 * was called.  @past: of a stack as it was, in @memory.  False: walk again.
 */
bool stack_managed(struct session *session, pid_t tid,
		   const struct user_regs_struct *regs,
		   const struct memory *memory, bool past,
		   struct frame frames[EVENT_FRAMES], size_t *count,
		   const char **end);
void stack_managed_forget(struct session *session);
/* May they be others after a store there? */
bool stack_managed_stored(const struct session *session, uint64_t addr,
			  size_t size);
/* It is in the log: what --verify-stacks found of it counts. */
void stack_told(struct session *session, uint64_t ip);
/* What unwinder_popped() finds: words for such a memory. */
size_t stack_popped(struct session *session,
		    const struct user_regs_struct *regs,
		    const struct memory *memory,
		    struct unwinder_word ret[UNWINDER_POPPED]);
/* The addresses, how many, and why it ends: NULL, "truncated" ... */
size_t stack_frames(struct session *session, const struct thread *thread,
		    const struct user_regs_struct *regs,
		    struct frame frames[EVENT_FRAMES], const char **end);
/* Are they those of the last text, stacks.last? */
bool stack_is_last(const struct session *session,
		   const struct user_regs_struct *regs);
/* Until it is said to be over, stacks change by stack_stored() alone. */
void stack_still(struct session *session, bool still);
void stack_stored(struct session *session, uint64_t addr, const void *bytes,
		  size_t size);
void stack_forget(struct session *session); /* names and modules */
void stack_drop(struct session *session,
		const struct thread *thread); /* it is gone */
bool stack_summary(const struct session *session,
		   struct event_stacks *ret); /* false: none was walked */
void stack_merge(struct session *to, const struct session *from);
void stack_done(struct session *session);

/* spawn.c: fork, seize, exec. */
int spawn(struct session *session, char *const argv[],
	  struct error *err) _must_check_;
/* After the child ended: 0, or a TRACER_* if its exec failed, and why. */
int spawn_explain(struct session *session, const char *name,
		  struct error *err) _must_check_;

/* seize.c: every thread of a running process. */
int seize(struct session *session, pid_t pid, struct error *err) _must_check_;

/* leave.c: stop all, settle their calls, give all rights back. */
int leave_prepare(struct session *session) _must_check_;
enum { LEAVE_LATER = 1 /* resume it: it has a stop of ours to tell yet */ };
/* Make one that stands still whole; *@signal: what it must be given. */
int leave_settle(struct session *session, struct thread *thread,
		 int *signal) _must_check_;
/* And detach it; -ESRCH: it is dying. */
int leave_thread(struct session *session, struct thread *thread);
