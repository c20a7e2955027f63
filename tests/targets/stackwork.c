/* SPDX-License-Identifier: Apache-2.0 */
/* options: --every */
/* watch: map:stack */
/*
 * What programs do with their stacks: handlers on them, one in another, queued
 * signals in their order, growth by calls and by the kernel, a buffer of a
 * call where it has not grown yet, jumps, threads, code.
 */
#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/targets/target.h"

#define NOINLINE __attribute__((noinline))

enum { DEPTH = 40, FRAME = 8192, VALUES = 4, BUFFER = 600000 };

static volatile int order[16], orders;
static jmp_buf back;

static void on_queued(int sig, siginfo_t *info, void *context)
{
	volatile int here = info->si_value.sival_int;

	order[orders++] = here;
	if (here == 1)
		raise(SIGUSR1); /* one in the other */
}

static void on_usr1(int sig)
{
	volatile double kept = 1.5 * sig;

	order[orders++] = 100 + (int)(kept - 1.5 * sig);
}

static void on_fault(int sig)
{
	siglongjmp(back, 1);
}

static void queue_signals(void)
{
	struct sigaction action = { .sa_sigaction = on_queued,
				    .sa_flags = SA_SIGINFO };
	sigset_t set, old;

	sigaction(SIGRTMIN, &action, NULL);
	signal(SIGUSR1, on_usr1);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, &old);
	for (int i = 0; i < VALUES; i++)
		sigqueue(getpid(), SIGRTMIN, (union sigval){ i });
	sigprocmask(SIG_SETMASK, &old, NULL);
	for (int i = 0; i < orders; i++)
		printf("%d ", order[i]);
	printf("\n");
}

/* The red zone of a leaf is not the handler's. */
static NOINLINE long red_zone(void)
{
	long sum;

	__asm__ volatile("movq $7, -8(%%rsp)\n\t"
			 "movq $35, -120(%%rsp)\n\t"
			 "mov %1, %%edi\n\t"
			 "mov %2, %%esi\n\t"
			 "mov $200, %%eax\n\t" /* tkill */
			 "syscall\n\t"
			 "mov -8(%%rsp), %0\n\t"
			 "add -120(%%rsp), %0"
			 : "=&r"(sum)
			 : "r"(getpid()), "i"(SIGUSR1)
			 : "rax", "rcx", "r11", "rdi", "rsi", "memory");
	return sum;
}

static NOINLINE int recurse(int depth)
{
	volatile char frame[FRAME];

	frame[FRAME - 1] = (char)depth;
	frame[0] = (char)depth;
	if (depth == DEPTH / 2)
		raise(SIGUSR1);
	return depth ? recurse(depth - 1) + frame[0] - frame[FRAME - 1] + 1 : 0;
}

/* The kernel is the first to write there, and a handler's frame. */
static NOINLINE void far_below(size_t size)
{
	char *buffer = alloca(size);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	expect(fd >= 0);
	expect(read(fd, buffer, 10000) == 10000);
	expect(buffer[9999] == 0);
	close(fd);
	printf("%d\n", stat("/", (struct stat *)(buffer + 20000)));
}

static NOINLINE void signal_below(size_t size)
{
	char *buffer = alloca(size);

	orders = 0;
	raise(SIGUSR1);
	buffer[0] = 1;
	printf("%d %d\n", order[0], buffer[0]);
}

/* The stack pointer is where the stack ends by now. */
static NOINLINE int signal_at_the_end(void)
{
	orders = 0;
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "lea -0x400000(%%rsp), %%rsp\n\t"
			 "and $-4096, %%rsp\n\t"
			 "movq $0, (%%rsp)\n\t"
			 "mov %0, %%edi\n\t"
			 "mov %1, %%esi\n\t"
			 "mov $200, %%eax\n\t" /* tkill */
			 "syscall\n\t"
			 "mov %%rbx, %%rsp" ::"r"(getpid()),
			 "i"(SIGUSR1)
			 : "rax", "rbx", "rcx", "r11", "rdi", "rsi", "memory");
	return order[0];
}

static void *thread(void *argument)
{
	volatile long sum = 0;

	for (long i = 0; i <= (long)argument; i++)
		sum += i;
	pthread_kill(pthread_self(), SIGUSR1);
	return (void *)sum;
}

/* Code on its stack, as trampolines are. */
static void *on_executable(void *argument)
{
	volatile unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };

	return (void *)(intptr_t)((int (*)(void))(uintptr_t)code)();
}

static void run_on_executable(void)
{
	enum { SIZE = 1 << 20 };
	void *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t id;
	void *result;

	expect(stack != MAP_FAILED);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, SIZE);
	expect(!pthread_create(&id, &attributes, on_executable, NULL));
	pthread_join(id, &result);
	printf("%d\n", (int)(intptr_t)result);
}

int main(void)
{
	pthread_t id[2];
	void *sum[2];

	queue_signals();
	printf("%ld\n", red_zone());
	printf("%d\n", recurse(DEPTH));
	far_below(BUFFER);
	signal_below(2 * BUFFER);
	printf("%d\n", signal_at_the_end());
	signal(SIGSEGV, on_fault);
	if (sigsetjmp(back, 1) == 0)
		*(volatile int *)16 = 1;
	else
		printf("back\n");
	for (long i = 0; i < 2; i++)
		expect(pthread_create(&id[i], NULL, thread,
				      (void *)(20 * (i + 1))) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(id[i], &sum[i]);
	printf("%ld %ld\n", (long)sum[0], (long)sum[1]);
	run_on_executable();
	return 0;
}
