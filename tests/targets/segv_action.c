/* SPDX-License-Identifier: Apache-2.0 */
/* watch: watched */
/* options: --survive */
/*
 * What the kernel says of SIGSEGV's disposition, which is asked for and set
 * in all ways, with the answers in watched memory, too.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/targets/target.h"

/* As the kernel has it. */
struct action {
	uint64_t handler, flags, restorer, mask;
};

static struct {
	volatile long number;
	struct action set, old;
} watched;

static void first(int sig)
{
	watched.number += 1;
}

static void second(int sig, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	watched.number += 1000;
	if (info->si_code > 0)
		user->uc_mcontext.gregs[REG_RIP] += 3;
}

/* mov (%rbx), %rax is three bytes */
static void fault(void)
{
	__asm__ volatile(".byte 0x48, 0x8b, 0x03" ::"b"(8) : "rax", "memory");
}

static const char *name_of(uint64_t handler)
{
	return handler == (uint64_t)SIG_DFL   ? "default"
	       : handler == (uint64_t)SIG_IGN ? "ignored"
	       : handler == (uint64_t)first   ? "first"
	       : handler == (uint64_t)second  ? "second"
					      : "another";
}

static void show(const char *what)
{
	struct action old = { 0 };

	watched.number++;
	expect(syscall(SYS_rt_sigaction, SIGSEGV, NULL, &old, 8) == 0);
	printf("%s: %s flags %lx mask %lx restorer %d\n", what,
	       name_of(old.handler), (long)old.flags, (long)old.mask,
	       old.restorer != 0);
}

static void set(void *handler, int flags, int other)
{
	struct sigaction action = { .sa_flags = flags };

	action.sa_handler = (__sighandler_t)handler;
	if (other)
		sigaddset(&action.sa_mask, other);
	expect(sigaction(SIGSEGV, &action, NULL) == 0);
}

static void errors(void)
{
	struct action old = { 0 };
	long r;

	r = syscall(SYS_rt_sigaction, SIGSEGV, NULL, &old, 4);
	printf("short: %ld %s\n", r, strerror(errno));
	r = syscall(SYS_rt_sigaction, SIGSEGV, 8L, NULL, 8);
	printf("bad new: %ld %s\n", r, strerror(errno));
	r = syscall(SYS_rt_sigaction, SIGSEGV, &old, 8L, 8);
	printf("bad old: %ld %s\n", r, strerror(errno));
	show("after a bad old");
}

static int child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct action old = { 0 };

		syscall(SYS_rt_sigaction, SIGSEGV, NULL, &old, 8);
		_exit(old.handler == (uint64_t)second);
	}
	expect(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	show("at first");
	set(first, SA_NODEFER | SA_RESTART, SIGUSR1);
	show("first");
	errors();

	watched.set = (struct action){ .handler = (uint64_t)SIG_IGN };
	expect(syscall(SYS_rt_sigaction, SIGSEGV, &watched.set, &watched.old,
		       8) == 0);
	printf("watched: %s\n", name_of(watched.old.handler));
	raise(SIGSEGV);
	kill(getpid(), SIGSEGV);
	show("ignored");

	set(second, SA_SIGINFO, SIGUSR2);
	for (int i = 0; i < 50; i++) {
		fault();
		if (i % 10 == 0)
			raise(SIGSEGV);
	}
	show("second");
	printf("in a child: %d\n", child());

	set(second, SA_SIGINFO | SA_RESETHAND, 0);
	raise(SIGSEGV);
	show("was reset");
	printf("%ld\n", watched.number);
	fflush(stdout);
	fault(); /* and ends */
	return 0;
}
