/* SPDX-License-Identifier: Apache-2.0 */
/* watch: log_of_faults */
/*
 * A SIGSEGV handler that skips the instruction, as the null checks of
 * just-in-time compilers do; it sees its own siginfo and registers.
 */
#include <signal.h>
#include <ucontext.h>

#include "tests/targets/target.h"

static volatile struct {
	int count, codes;
	uint64_t addresses;
} log_of_faults;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	log_of_faults.count++;
	log_of_faults.codes += info->si_code;
	log_of_faults.addresses += (uintptr_t)info->si_addr;
	user->uc_mcontext.gregs[REG_RIP] += 3;
	user->uc_mcontext.gregs[REG_RAX] = 4711;
}

/* mov (%rbx), %rax is three bytes */
static uint64_t load(uint64_t addr)
{
	uint64_t value = 1;

	__asm__ volatile(".byte 0x48, 0x8b, 0x03"
			 : "+a"(value)
			 : "b"(addr)
			 : "memory");
	return value;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO };
	uint64_t sum = 0;

	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 100; i++)
		sum += load(8 * i);
	sum += load(UINT64_C(0x8000000000000000)); /* no address: SI_KERNEL */
	printf("%d faults, codes %d, addresses %d, sum %d\n",
	       log_of_faults.count, log_of_faults.codes,
	       (int)log_of_faults.addresses, (int)sum);
	return 0;
}
