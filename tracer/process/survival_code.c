/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "tracer/process/inject.h"
#include "tracer/process/survival_layout.h"

/*
 * The survival handler.  All of it lies in a section of its own, whose bytes
 * are copied into the process: it calls nothing, has no constants outside of
 * its code, and uses no vector registers (see meson.build).
 *
 * While the tracer lives only faults of the program's own come here.
 */
#define COPIED __attribute__((section("cls_survival")))

enum {
	BY_RIGHTS = 2,	      /* SEGV_ACCERR */
	ERROR_WRITE = 1 << 1, /* of the page fault's error code */
	ERROR_FETCH = 1 << 4,
	ANY_ACCESS = PROT_READ | PROT_WRITE | PROT_EXEC,
};

/* A fault that was raised while pages were closed is not older than that. */
static const int64_t late_ns = 1000000000;

/*
 * The program's handler is entered as the kernel would have: its registers
 * and its stack are those that we found.
 */
__asm__(".pushsection cls_survival, \"ax\", @progbits\n"
	".globl survival_entry\n"
	".hidden survival_entry\n"
	"survival_entry:\n"
	"	push %rax\n" /* room for where to go on */
	"	pushf\n"
	"	push %rax\n"
	"	push %rcx\n"
	"	push %rdx\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %r10\n"
	"	push %r11\n"
	"	call survival_handle\n"
	"	mov %rax, 80(%rsp)\n"
	"	test %rax, %rax\n"
	"	pop %r11\n"
	"	pop %r10\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rdi\n"
	"	pop %rsi\n"
	"	pop %rdx\n"
	"	pop %rcx\n"
	"	pop %rax\n"
	"	jz 1f\n"
	"	popf\n"
	"	ret\n"
	"1:	popf\n"
	"	lea 8(%rsp), %rsp\n"
	"	ret\n"
	".globl survival_restorer\n"
	".hidden survival_restorer\n"
	"survival_restorer:\n"
	"	mov $15, %eax\n" /* rt_sigreturn */
	"	syscall\n"
	".popsection\n");

COPIED static long call4(long number, uint64_t a, uint64_t b, uint64_t c,
			 uint64_t d)
{
	register uint64_t r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

COPIED static uint64_t get_tid(void)
{
	return (uint64_t)call4(SYS_gettid, 0, 0, 0, 0);
}

COPIED static struct survival_own *find_own(void)
{
	uint64_t here;

	__asm__("lea 0(%%rip), %0" : "=r"(here));
	return (struct survival_own *)(page_down(here) + SCRATCH_OWN);
}

/*
 * A thread that made a system call for the tracer, which died meanwhile: its
 * mask and registers.  They lie in the order of struct user_regs_struct, whose
 * end is what iret takes.  Below the stack pointer it may use 128 bytes.
 */
__asm__(".pushsection cls_survival, \"ax\", @progbits\n"
	".globl survival_return\n"
	".hidden survival_return\n"
	"survival_return:\n"
	"	lea -256(%rsp), %rsp\n"
	"	and $-16, %rsp\n"
	"	call survival_go_back\n"
	".popsection\n");

COPIED static int64_t now(void)
{
	struct timespec t;

	call4(SYS_clock_gettime, CLOCK_MONOTONIC, (uint64_t)&t, 0, 0);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

COPIED static void set_disposition(const struct disposition *disposition)
{
	call4(SYS_rt_sigaction, SIGSEGV, (uint64_t)disposition, 0, 8);
}

COPIED static void open_range(const struct survival_range *range)
{
	uint64_t at = range->start;

	if (call4(SYS_mprotect, at, range->end - at, range->prot, 0) == 0)
		return;
	/* mprotect(2) stops at a hole. */
	for (; at < range->end; at += PAGE)
		call4(SYS_mprotect, at, PAGE, range->prot, 0);
}

COPIED static const struct survival_table *
table_of(const struct survival_shared *shared)
{
	return &shared->table[shared->current & 1];
}

COPIED static void open_all(struct survival_own *own)
{
	const struct survival_table *table = table_of(own->shared);
	uint32_t before = SURVIVAL_CLOSED;
	int64_t begin = now();

	if (__atomic_compare_exchange_n(&own->state, &before, SURVIVAL_OPENING,
					false, __ATOMIC_ACQUIRE,
					__ATOMIC_ACQUIRE)) {
		for (uint64_t i = 0; i < table->count && i < SURVIVAL_RANGES;
		     i++)
			open_range(&table->range[i]);
		own->opened_ns = (uint64_t)now();
		__atomic_store_n(&own->state, SURVIVAL_OPEN, __ATOMIC_RELEASE);
	}
	/* Bounded: who opens may be a thread that a fork did not copy. */
	while (__atomic_load_n(&own->state, __ATOMIC_ACQUIRE) !=
		       SURVIVAL_OPEN &&
	       now() - begin < 5 * late_ns)
		call4(SYS_sched_yield, 0, 0, 0, 0);
}

COPIED __attribute__((used, noreturn)) static void survival_go_back(void)
{
	struct survival_own *own = find_own();
	struct survival_way_back *way = &own->shared->way_back;

	/* Its next call may be on closed pages, and raises no fault.  But a
	 * store that was begun must be settled before. */
	if (!__atomic_load_n(&own->shared->journal.valid, __ATOMIC_ACQUIRE))
		open_all(own);

	call4(SYS_rt_sigprocmask, SIG_SETMASK, (uint64_t)&way->mask, 0, 8);
	__asm__ volatile("mov %0, %%rsp\n"
			 "pop %%r15; pop %%r14; pop %%r13; pop %%r12\n"
			 "pop %%rbp; pop %%rbx; pop %%r11; pop %%r10\n"
			 "pop %%r9; pop %%r8; pop %%rax; pop %%rcx\n"
			 "pop %%rdx; pop %%rsi; pop %%rdi\n"
			 "lea 8(%%rsp), %%rsp\n" /* orig_rax */
			 "iretq\n" ::"r"(&way->regs));
	__builtin_unreachable();
}

/* Not from a table of the compiler's, which would not be copied. */
static inline uint64_t word(uint64_t value)
{
	__asm__("" : "+r"(value));
	return value;
}

/* Forces closed pages, so that no other thread comes before us. */
COPIED static bool write_forced(const struct survival_journal *journal)
{
	/* "/proc/thread-self/mem": the first thread may have ended */
	const uint64_t path[3] = { word(UINT64_C(0x68742f636f72702f)),
				   word(UINT64_C(0x6c65732d64616572)),
				   word(UINT64_C(0x6d656d2f66)) };
	long fd = call4(SYS_open, (uint64_t)path, 2 /* O_RDWR */, 0, 0);
	long put;

	if (fd < 0)
		return false;
	put = call4(SYS_pwrite64, (uint64_t)fd, (uint64_t)journal->old,
		    journal->size, journal->addr);
	call4(SYS_close, (uint64_t)fd, 0, 0, 0);
	return put == journal->size;
}

COPIED static void write_open(struct survival_own *own,
			      const struct survival_journal *journal)
{
	open_all(own);
	for (uint32_t i = 0; i < journal->size; i++)
		((volatile uint8_t *)journal->addr)[i] = journal->old[i];
}

/*
 * A write was made for a thread, and maybe the thread was not moved on: it
 * will do it again.  Nobody may see the memory before.
 */
COPIED static void settle(struct survival_own *own, const ucontext_t *context)
{
	struct survival_journal *journal = &own->shared->journal;
	const greg_t *regs = context->uc_mcontext.gregs;
	bool stands = (uint64_t)regs[REG_RSP] == journal->sp;
	int64_t begin = now();

	if (!__atomic_load_n(&journal->valid, __ATOMIC_ACQUIRE) ||
	    journal->size > sizeof(journal->old))
		return;
	if (journal->tid ? journal->tid == get_tid() : stands) {
		if (stands && (uint64_t)regs[REG_RIP] == journal->ip &&
		    !write_forced(journal))
			write_open(own, journal);
		__atomic_store_n(&journal->valid, 0, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&journal->valid, __ATOMIC_ACQUIRE) &&
	       now() - begin < 5 * late_ns)
		call4(SYS_sched_yield, 0, 0, 0, 0);
	/* It was moved on, and has no fault: nobody waits for it again. */
	__atomic_store_n(&journal->valid, 0, __ATOMIC_RELEASE);
}

/* By an operation that is none rt_sigprocmask(2) only looks. */
COPIED static bool is_readable(const uint64_t *word)
{
	return call4(SYS_rt_sigprocmask, UINT64_MAX, (uint64_t)word, 0, 8) !=
	       -14 /* EFAULT */;
}

/*
 * Did the handler return since?  Then the mask is what its frame had, and that
 * lies below the stack pointer, or was overwritten.
 */
COPIED static bool has_returned(const struct survival_frame *frame, uint64_t sp)
{
	const uint64_t *word = (const uint64_t *)frame->at;

	return word &&
	       (sp > frame->at || sp < frame->low || !is_readable(word) ||
		!is_readable(word + SURVIVAL_FPSTATE) ||
		word[0] != frame->restorer ||
		word[SURVIVAL_FPSTATE] != frame->fpstate);
}

/* As the tracer would have done, had it left. */
COPIED static void block_again(struct survival_own *own, ucontext_t *context)
{
	struct survival_blocked *b = own->shared->blocked;
	uint64_t sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
	uint64_t tid = get_tid();
	uint64_t *mask = (uint64_t *)&context->uc_sigmask;

	const struct survival_way_back *way = &own->shared->way_back;
	const uint64_t never = signal_bit(SIGKILL) | signal_bit(SIGSTOP);

	if (way->tid == tid && *mask == (SURVIVAL_REENTERS & ~never))
		*mask = way->mask;
	for (int i = 0; i < SURVIVAL_BLOCKED; i++) {
		if (b[i].tid != tid)
			continue;
		/* It may have set another one since. */
		if (b[i].mask == (*mask | signal_bit(SIGSEGV)) &&
		    !has_returned(&b[i].frame, sp))
			*mask = b[i].mask;
		b[i].tid = 0; /* from now on it sets its mask itself */
	}
}

COPIED static bool permits(const struct survival_range *range, uint64_t error)
{
	if (error & ERROR_WRITE)
		return range->prot & PROT_WRITE;
	return range->prot & (error & ERROR_FETCH ? PROT_EXEC : ANY_ACCESS);
}

/* Would the program's own access not have faulted? */
COPIED static bool raised_by_closing(const struct survival_own *own,
				     const siginfo_t *info,
				     const ucontext_t *context)
{
	const struct survival_table *table = table_of(own->shared);
	uint64_t addr = (uint64_t)info->si_addr;
	uint64_t error = (uint64_t)context->uc_mcontext.gregs[REG_ERR];

	if (info->si_code != BY_RIGHTS)
		return false;
	for (uint64_t i = 0; i < table->count && i < SURVIVAL_RANGES; i++)
		if (addr >= table->range[i].start &&
		    addr < table->range[i].end) {
			/* A call for the tracer may have closed it since. */
			open_range(&table->range[i]);
			return permits(&table->range[i], error);
		}
	return false;
}

/* "/proc/self/task" has a link from each thread, its parent and itself. */
COPIED static bool is_alone(void)
{
	const uint64_t path[2] = { word(UINT64_C(0x65732f636f72702f)),
				   word(UINT64_C(0x6b7361742f666c)) };
	struct stat task;

	return call4(SYS_stat, (uint64_t)path, (uint64_t)&task, 0, 0) == 0 &&
	       task.st_nlink == 3;
}

/* What happens to the fault of the program's own: where its handler is. */
COPIED static uint64_t chain(struct survival_own *own, siginfo_t *info)
{
	const struct disposition fall = {
		.handler = word(0),
		.flags = word(SIGNAL_RESTORER),
		.restorer = word(0),
		.mask = word(0),
	};
	uint64_t handler = own->program.handler;
	long pid;

	if (own->program.flags & SA_RESETHAND)
		handler = __atomic_exchange_n(&own->program.handler, 0,
					      __ATOMIC_ACQ_REL);
	if (handler == (uint64_t)SIG_IGN && info->si_code <= 0)
		return 0;
	if (handler > (uint64_t)SIG_IGN && own->program.flags & SIGNAL_RESTORER)
		return handler;

	/* It ends by the signal: raised anew by the instruction itself, or
	 * sent again as it was. */
	set_disposition(&fall);
	pid = call4(SYS_getpid, 0, 0, 0, 0);
	if (info->si_code <= 0)
		call4(SYS_rt_tgsigqueueinfo, (uint64_t)pid,
		      (uint64_t)call4(SYS_gettid, 0, 0, 0, 0), SIGSEGV,
		      (uint64_t)info);
	return 0;
}

/* Code of ours that only the tracer would have led on: it goes back. */
COPIED static bool leaves_ours(const struct survival_own *own,
			       ucontext_t *context)
{
	greg_t *ip = &context->uc_mcontext.gregs[REG_RIP];
	uint64_t code = (uint64_t)own - SCRATCH_OWN;

	if ((uint64_t)*ip - code >= SCRATCH_HANDLER)
		return false;
	*ip = (greg_t)(code + SCRATCH_RETURN);
	return true;
}

/* 0: return from the signal; else: the address of the program's handler. */
COPIED __attribute__((used)) static uint64_t
survival_handle(int signal, siginfo_t *info, ucontext_t *context)
{
	struct survival_own *own = find_own();
	uint64_t next;
	bool late;

	if (!(__atomic_load_n(&own->shared->owner, __ATOMIC_ACQUIRE) &
	      FUTEX_OWNER_DIED))
		return chain(own, info);
	if (leaves_ours(own, context))
		return 0;
	settle(own, context);
	open_all(own);
	block_again(own, context);
	late = now() - (int64_t)own->opened_ns < late_ns;
	next = late && raised_by_closing(own, info, context) ? 0
							     : chain(own, info);
	/* Other threads may have faults on their way, which must come here. */
	if (!late || is_alone())
		set_disposition(&own->program);
	return next;
}
