/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tracer/process/inject.h"
#include "tracer/process/limit.h"
#include "tracer/process/mem.h"
#include "tracer/process/status.h"

/* clang-format off */
static const uint8_t code[] = {
	[SCRATCH_CODE] = 0x0f, 0x05,             /* syscall */
	0xcc,                                    /* int3 */
	[SCRATCH_LOAD] = 0x48, 0x8b, 0x07,       /* mov rax, [rdi] */
	0xcc,
	[SCRATCH_LOOP] = 0x48, 0x8b, 0x3b,       /* mov rdi, [rbx] */
	0x48, 0x8b, 0x73, 0x08,                  /* mov rsi, [rbx + 8] */
	0x48, 0x8b, 0x53, 0x10,                  /* mov rdx, [rbx + 16] */
	0xb8, SYS_mprotect, 0x00, 0x00, 0x00,    /* mov eax, mprotect */
	0x0f, 0x05,                              /* syscall */
	0x48, 0x89, 0x43, 0x18,                  /* mov [rbx + 24], rax */
	0x48, 0x83, 0xc3, 0x20,                  /* add rbx, 32 */
	0x48, 0xff, 0xcd,                        /* dec rbp */
	0x75, 0xe1,                              /* jnz SCRATCH_LOOP */
	0xcc,
};
/* clang-format on */

/* A call whose answer is 0, a number, or an error that becomes ours. */
static int run(struct injection *injection, long number, const uint64_t args[6],
	       uint64_t *ret)
{
	int64_t result = 0;
	int r = inject_call(injection, number, args, &result);

	if (r < 0)
		return r;
	if (result < 0 && result >= -4095)
		return (int)result;
	if (ret)
		*ret = (uint64_t)result;
	return 0;
}

static int unmap(struct injection *injection, uint64_t start, uint64_t size)
{
	return run(injection, SYS_munmap, (const uint64_t[6]){ start, size },
		   NULL);
}

/* Where a limit of data leaves no room: what has no rights is not counted. */
int inject_map(struct injection *injection, uint64_t size, uint64_t *start)
{
	const int prot = PROT_READ | PROT_WRITE;
	uint64_t args[6] = { 0,
			     size,
			     (uint64_t)prot,
			     MAP_PRIVATE | MAP_ANONYMOUS,
			     (uint64_t)-1,
			     0 };
	int r = run(injection, SYS_mmap, args, start);

	if (r != -ENOMEM)
		return r;
	args[2] = PROT_NONE;
	r = run(injection, SYS_mmap, args, start);
	if (r < 0)
		return r;
	r = inject_protect_back(injection, *start, *start + size, prot);
	if (r < 0)
		(void)!unmap(injection, *start, size);
	return r;
}

/*
 * A page of code and one mapping above it.  The kernel counts that as a stack,
 * which RLIMIT_DATA does not limit: the program has as much left as it had.
 * It cannot grow, since the page below is taken.
 */
static int map_scratch(struct injection *injection, uint64_t *start)
{
	uint64_t args[6] = { 0,
			     SCRATCH_SIZE,
			     PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS,
			     (uint64_t)-1,
			     0 };
	int r = run(injection, SYS_mmap, args, start);

	if (r < 0)
		return r;
	args[0] = *start + PAGE;
	args[1] -= PAGE;
	args[2] = PROT_READ | PROT_WRITE;
	args[3] |= MAP_FIXED | MAP_GROWSDOWN;
	r = run(injection, SYS_mmap, args, NULL);
	if (r < 0)
		(void)!unmap(injection, *start, SCRATCH_SIZE);
	return r;
}

int inject_scratch(struct injection *injection)
{
	struct process *process = injection->thread->process;
	uint64_t start;
	int r;

	if (process->scratch.start)
		return 0;
	r = map_scratch(injection, &start);
	if (r < 0)
		return r;
	process->scratch.start = start;
	process->scratch.size = SCRATCH_SIZE;
	process->maps_stale = true;

	r = mem_write(process->mem, start + SCRATCH_CODE, code, sizeof(code));
	if (r == 0)
		process->syscall_insn = start + SCRATCH_CODE;
	return r;
}

int inject_unscratch(struct injection *injection)
{
	struct scratch *scratch = &injection->thread->process->scratch;
	int r;

	if (!scratch->start)
		return 0;
	r = survival_unmap(injection);
	if (r == 0)
		r = unmap(injection, scratch->start, scratch->size);
	if (r == 0) {
		*scratch = (struct scratch){ 0 };
		injection->thread->process->syscall_insn = 0;
	}
	injection->thread->process->maps_stale = true;
	return r;
}

int inject_protect(struct injection *injection, uint64_t start, uint64_t end,
		   int prot)
{
	const uint64_t args[6] = { start, end - start, (uint64_t)prot };

	return run(injection, SYS_mprotect, args, NULL);
}

int inject_protect_back(struct injection *injection, uint64_t start,
			uint64_t end, int prot)
{
	int r = inject_protect(injection, start, end, prot);
	struct limit limit;

	if (r != -ENOMEM || !(prot & PROT_WRITE) ||
	    limit_waive(&limit, injection->thread) < 0)
		return r;
	r = inject_protect(injection, start, end, prot);
	limit_return(&limit);
	return r;
}

static uint64_t data(const struct injection *injection)
{
	return injection->thread->process->scratch.start + SCRATCH_DATA;
}

int inject_altstack(struct injection *injection, uint64_t *base, uint64_t *size)
{
	const uint64_t args[6] = { 0, data(injection) };
	stack_t stack;
	int r;

	r = run(injection, SYS_sigaltstack, args, NULL);
	if (r == 0)
		r = mem_read(injection->thread->process->mem, data(injection),
			     &stack, sizeof(stack));
	if (r < 0)
		return r;
	*base = stack.ss_flags & SS_DISABLE ? 0 : (uintptr_t)stack.ss_sp;
	*size = stack.ss_flags & SS_DISABLE ? 0 : stack.ss_size;
	return 0;
}

int inject_ask_disposition(struct injection *injection, int signal,
			   struct disposition *ret)
{
	const uint64_t args[6] = { (uint64_t)signal, 0, data(injection), 8 };
	int r;

	r = run(injection, SYS_rt_sigaction, args, NULL);
	if (r < 0)
		return r;
	return mem_read(injection->thread->process->mem, data(injection), ret,
			sizeof(*ret));
}

/* What is ignored is told by the kernel; what is caught must be asked for. */
int inject_dispositions(struct injection *injection)
{
	struct process *process = injection->thread->process;
	struct dispositions *dispositions = &process->dispositions;
	struct status_signals now;
	int r = status_signals(injection->thread->tid, &now);

	if (r < 0)
		return r;
	for (int signal = 1; signal <= SIGNALS; signal++) {
		struct disposition *d = &dispositions->signal[signal];

		*d = (struct disposition){ 0 };
		if (now.ignored & signal_bit(signal))
			d->handler = (uint64_t)(uintptr_t)SIG_IGN;
		else if (now.caught & signal_bit(signal))
			r = inject_ask_disposition(injection, signal, d);
		if (r < 0)
			return r;
	}
	dispositions->known = true;
	return 0;
}

int inject_disposition(struct injection *injection, int signal,
		       const struct disposition *disposition)
{
	const uint64_t args[6] = { (uint64_t)signal, data(injection), 0, 8 };
	int r;

	r = mem_write(injection->thread->process->mem, data(injection),
		      disposition, sizeof(*disposition));
	if (r < 0)
		return r;
	return run(injection, SYS_rt_sigaction, args, NULL);
}

/*
 * To itself a thread may queue any si_code, also those of the kernel.  What it
 * is called in its own namespace of processes only itself can tell.
 */
int inject_signal(struct injection *injection, const siginfo_t *info)
{
	uint64_t args[6] = { 0, 0, (uint64_t)info->si_signo, data(injection) };
	int r;

	r = mem_write(injection->thread->process->mem, data(injection), info,
		      sizeof(*info));
	if (r == 0)
		r = run(injection, SYS_getpid, args, &args[0]);
	if (r == 0)
		r = run(injection, SYS_gettid, args, &args[1]);
	return r < 0 ? r : run(injection, SYS_rt_tgsigqueueinfo, args, NULL);
}

int inject_signal_process(struct injection *injection, const siginfo_t *info)
{
	uint64_t args[6] = { 0, (uint64_t)info->si_signo, data(injection) };
	int r = mem_write(injection->thread->process->mem, data(injection),
			  info, sizeof(*info));

	if (r == 0)
		r = run(injection, SYS_getpid, args, &args[0]);
	return r < 0 ? r : run(injection, SYS_rt_sigqueueinfo, args, NULL);
}
