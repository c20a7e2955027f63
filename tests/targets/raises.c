/* SPDX-License-Identifier: Apache-2.0 */
/* watch: array */
/* args: handled */
/* args: sleeper */
/* args: alternate */
/* args: blocked */
/* args: ignored */
/* args: default */
/*
 * Instructions that touch watched memory and then raise an exception: what
 * their handler is told of it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE = 4096, ROUNDS = 3 };

static _Alignas(PAGE) volatile uint8_t array[PAGE];
static uint8_t *edge; /* what lies behind is not mapped */
static sigjmp_buf back;

static void tell(int signal, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *ip = (const uint8_t *)regs[REG_RIP];

	printf("signal %d code %d trap %lld error %llx flags %llx at %02x\n",
	       signal, info->si_code, regs[REG_TRAPNO], regs[REG_ERR],
	       regs[REG_EFL] & 0x300, *ip);
	array[64]++;
	siglongjmp(back, 1);
}

static void divide(void)
{
	__asm__ volatile("divq %0" ::"m"(array[8]), "a"(1l), "d"(0l));
}

static void compare(void)
{
	const volatile uint8_t *from = array;
	const uint8_t *with = edge - 4;
	uint64_t count = 8;

	__asm__ volatile("repe cmpsb" : "+S"(from), "+D"(with), "+c"(count));
}

static void copy(void)
{
	const volatile uint8_t *from = array;
	uint8_t *to = edge;

	__asm__ volatile("movsb" : "+S"(from), "+D"(to)::"memory");
}

static void misalign(void)
{
	__asm__ volatile("movaps %0, %%xmm0" ::"m"(array[1]) : "xmm0");
}

static void attempt(void (*touch)(void))
{
	if (sigsetjmp(back, 1) == 0) {
		touch();
		puts("no signal");
	}
}

static void *sleeper(void *argument)
{
	for (;;)
		usleep(500);
	return NULL;
}

static void prepare(const char *how)
{
	static uint8_t stack[64 << 10];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = tell,
				    .sa_flags = SA_SIGINFO };
	pthread_t thread;
	sigset_t set;

	if (!strcmp(how, "alternate")) {
		expect(sigaltstack(&alternate, NULL) == 0);
		action.sa_flags |= SA_ONSTACK;
	}
	if (!strcmp(how, "sleeper"))
		expect(!pthread_create(&thread, NULL, sleeper, NULL));
	if (!strcmp(how, "ignored"))
		action.sa_handler = SIG_IGN;
	if (strcmp(how, "default") != 0) {
		sigaction(SIGSEGV, &action, NULL);
		sigaction(SIGFPE, &action, NULL);
	}
	if (strcmp(how, "blocked") != 0)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
	edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(argc > 1 && edge != MAP_FAILED);
	edge += PAGE;
	munmap(edge, PAGE);
	prepare(argv[1]);
	array[1] = 1;
	memset(edge - 4, 0, 4);
	array[1] = 0;
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < ROUNDS; i++) {
		attempt(copy);
		attempt(compare);
		attempt(divide);
		attempt(misalign);
	}
	printf("%d\n", array[64]);
	return 0;
}
