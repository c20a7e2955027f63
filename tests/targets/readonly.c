/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:bss */
/*
 * Stores that no operand names, to a page that was watched, and may only be
 * read since: each reaches the handler, once.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/targets/target.h"

static _Alignas(4096) char page[4096];
static sigjmp_buf back;
static int hits;

static void handler(int sig)
{
	hits++;
	siglongjmp(back, 1);
}

static void store(void)
{
	void *to = page;
	uint64_t count = 64;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : : "memory");
}

static void push(void)
{
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "lea %0, %%rsp\n\t"
			 "push %%rax\n\t"
			 "mov %%rbx, %%rsp"
			 :
			 : "m"(page[64])
			 : "rbx", "memory");
}

int main(void)
{
	static _Alignas(16) char other[65536];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_ONSTACK };
	void (*const ways[])(void) = { store, push };

	expect(!sigaltstack(&stack, NULL) && !sigaction(SIGSEGV, &action, 0));
	page[0] = 1;
	expect(!mprotect(page, sizeof(page), PROT_READ));
	for (size_t i = 0; i < 2; i++)
		if (!sigsetjmp(back, 1))
			ways[i]();
	printf("%d\n", hits);
	return 0;
}
