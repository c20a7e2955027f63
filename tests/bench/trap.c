/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that one event can cost here: the target faults, we are woken, we
 * move its rip past the instruction, we resume it.  Nothing is looked at.
 *
 *	trap ROUNDS	prints nanoseconds per trap
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 200, STORE_LENGTH = 3 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Each store faults, and is skipped by the parent. */
static void target(void)
{
	void *page =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (page == MAP_FAILED || ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(1);
	raise(SIGSTOP);
	__asm__ volatile("1: mov %%rax, (%%rdi)\n"
			 "jmp 1b" ::"D"(page));
}

static void await(pid_t pid, int sig)
{
	int status;

	if (waitpid(pid, &status, __WALL) < 0)
		fail("waitpid");
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != sig) {
		fprintf(stderr, "trap: not stopped by signal %d\n", sig);
		exit(1);
	}
}

static void resume(pid_t pid)
{
	if (ptrace(PTRACE_CONT, pid, NULL, NULL) < 0)
		fail("PTRACE_CONT");
	await(pid, SIGSEGV);
}

static void skip(pid_t pid, uint64_t rip)
{
	if (ptrace(PTRACE_POKEUSER, pid,
		   (void *)offsetof(struct user, regs.rip), rip) < 0)
		fail("PTRACE_POKEUSER");
	resume(pid);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	struct user_regs_struct regs;
	uint64_t start;
	pid_t pid;

	if (!rounds) {
		fprintf(stderr, "usage: trap ROUNDS\n");
		return 2;
	}
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0)
		target();
	await(pid, SIGSTOP);
	resume(pid);
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		fail("PTRACE_GETREGS");
	for (unsigned i = 0; i < WARM_UP; i++)
		skip(pid, regs.rip + STORE_LENGTH);
	start = now();
	for (unsigned long i = 0; i < rounds; i++)
		skip(pid, regs.rip + STORE_LENGTH);
	printf("%.2f\n", (double)(now() - start) / (double)rounds);
	kill(pid, SIGKILL);
	return 0;
}
