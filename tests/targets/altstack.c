/* SPDX-License-Identifier: Apache-2.0 */
/* watch: altstack:state */
/*
 * The stack overflows, and the handler runs on an alternate one: twice, with
 * watched memory touched on both.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	volatile int overflows, touched;
} state;

static sigjmp_buf back;

static void handler(int sig)
{
	state.overflows++;
	siglongjmp(back, 1);
}

static volatile int endless = 1;

static int overflow(volatile char *outer)
{
	volatile char frame[16384];

	frame[0] = outer ? outer[0] : 0;
	state.touched = 1;
	return endless ? overflow(frame) + frame[0] : 0;
}

int main(int argc, char **argv)
{
	struct rlimit limit = { 1 << 20, RLIM_INFINITY };
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_size = 1 << 16 };

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	setrlimit(RLIMIT_STACK, &limit);
	for (volatile int i = 0; i < 2; i++) {
		if (!sigsetjmp(back, 1))
			overflow(NULL);
	}
	printf("%d %d\n", state.overflows, state.touched);
	return 0;
}
