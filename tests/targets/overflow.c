/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:stack */
/* options: -f --every */
/*
 * The end of a stack, by RLIMIT_STACK: where it is met, by which fault, and
 * what becomes of a handler for which there is no room left on it.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { LIMIT = 256 << 10, PAGE = 4096, ALTSTACK = 65536, TIMES = 3 };

static volatile int code, handled;
static volatile uintptr_t addr;
static uintptr_t lowest;
static sigjmp_buf back;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	addr = (uintptr_t)info->si_addr;
	code = info->si_code;
	siglongjmp(back, 1);
}

static void on_signal(int sig)
{
	handled++;
}

static void on_overflow(int flags)
{
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO | flags };

	sigaction(SIGSEGV, &action, NULL);
}

static void limit_stack(void)
{
	/* The last string of all that the kernel put there. */
	uintptr_t last = getauxval(AT_EXECFN);
	struct rlimit limit;

	getrlimit(RLIMIT_STACK, &limit);
	limit.rlim_cur = LIMIT;
	expect(setrlimit(RLIMIT_STACK, &limit) == 0);
	last += strlen((const char *)last);
	lowest = last / PAGE * PAGE + PAGE - LIMIT;
}

static int recurse(int depth)
{
	volatile char frame[500];

	frame[0] = (char)depth;
	return depth < 0 ? 0 : recurse(depth + 1) + frame[0];
}

/* A signal while the stack pointer is @sp. */
static void signal_at(uintptr_t sp)
{
	sigset_t pending, mask;

	handled = code = 0;
	if (sigsetjmp(back, 1) == 0)
		__asm__ volatile("mov %%rsp, %%rbx\n\t"
				 "mov %0, %%rsp\n\t"
				 "mov $62, %%eax\n\t" /* kill */
				 "syscall\n\t"
				 "mov %%rbx, %%rsp"
				 :
				 : "r"(sp), "D"(getpid()), "S"(SIGUSR1)
				 : "rax", "rbx", "rcx", "r11", "memory");
	sigpending(&pending);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	printf("handled %d code %d pending %d blocked %d\n", handled, code,
	       sigismember(&pending, SIGUSR1), sigismember(&mask, SIGUSR1));
}

int main(void)
{
	static const int above[] = { 20000, 600, 64, -5000 };
	static char altstack[ALTSTACK];
	stack_t stack = { .ss_sp = altstack, .ss_size = ALTSTACK };
	int status;

	sigaltstack(&stack, NULL);
	on_overflow(SA_ONSTACK);
	signal(SIGUSR1, on_signal);
	limit_stack();
	for (int i = 0; i < TIMES; i++) {
		if (sigsetjmp(back, 1) == 0)
			recurse(0);
		printf("code %d at the end %d\n", code,
		       addr < lowest && addr > lowest - PAGE);
	}
	for (int i = 0; i < (int)(sizeof(above) / sizeof(above[0])); i++)
		signal_at(lowest + (uintptr_t)above[i]);
	fflush(stdout);
	if (fork() == 0) {
		on_overflow(SA_NODEFER); /* without the alternate stack */
		if (sigsetjmp(back, 1) == 0)
			recurse(0);
		_exit(1);
	}
	wait(&status);
	printf("%x\n", (unsigned)status & 0xff7f);
	return 0;
}
