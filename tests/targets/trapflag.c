/* SPDX-License-Identifier: Apache-2.0 */
/* watch: numbers */
/*
 * A program that steps itself by the trap flag counts the instructions, those
 * that touch watched memory and system calls among them.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { TURNS = 40 };

static volatile int numbers[1024];
static volatile long steps, others;

static void count(int number, siginfo_t *info, void *context)
{
	steps++;
	others += info->si_code != TRAP_TRACE;
	numbers[7]++;
}

/* x87 is stepped by the tracer, the rest is performed; and a call of it. */
static void work(int turns)
{
	for (int i = 0; i < turns; i++) {
		numbers[0] += i;
		__asm__ volatile("fildl %0; fistpl %1"
				 : "+m"(numbers[1]), "=m"(numbers[2]));
		__asm__ volatile("syscall"
				 :
				 : "a"(SYS_times), "D"(&numbers[16])
				 : "rcx", "r11", "memory");
	}
}

static void step(int turns)
{
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory");
	work(turns);
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory");
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = count,
				    .sa_flags = SA_SIGINFO };

	expect(sigaction(SIGTRAP, &action, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		step(TURNS);
		printf("%ld steps, %ld others, %d\n", steps, others,
		       numbers[0]);
	}
	work(TURNS);
	printf("%ld steps, %d\n", steps, numbers[0]);
	return 0;
}
