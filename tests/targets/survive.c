/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose tracer is killed while it works on watched memory.  Each
 * step changes a value that depends on the one before, so that a step that is
 * made twice, or not at all, shows in the end.
 *
 *	survive MODE THREADS ROUNDS
 *
 * SIGTERM ends its rounds early.
 *
 * plain    nothing more
 * handler  faults on purpose, which its own handler skips
 * lingers  likewise, but the handler of the first one waits for input, while
 *          another thread blocks SIGSEGV, and has one pending
 * blocked  with all signals blocked
 * masked   likewise, but SIGSEGV alone may be unblocked in the end
 * protect  gives some memory the rights that it has, all the time
 * read     reads from a pipe into watched memory
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { THREADS_MAX = 16, FAULT_EVERY = 64 };

static struct {
	uint64_t shared;
	volatile uint64_t own[THREADS_MAX][4];
	volatile uint64_t buffer[THREADS_MAX][8];
	uint8_t rest[4096] __attribute__((aligned(4096)));
} __attribute__((aligned(4096))) arena;

static const char *mode;
static uint64_t rounds;
static volatile uint64_t done[THREADS_MAX] __attribute__((aligned(4096)));
static volatile sig_atomic_t enough;
static volatile uint64_t faults[THREADS_MAX] __attribute__((aligned(4096)));
static __thread int me;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	expect(sig == SIGSEGV && info->si_addr == (void *)8);
	faults[me]++;
	user->uc_mcontext.gregs[REG_RIP] += 3;
}

static void on_fault_linger(int sig, siginfo_t *info, void *context)
{
	char c;

	on_fault(sig, info, context);
	if (faults[me] > 1)
		return;
	expect(write(STDOUT_FILENO, "handles\n", 8) == 8);
	expect(read(STDIN_FILENO, &c, 1) == 1);
}

static void *keep_one_pending(void *argument)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_kill(pthread_self(), SIGSEGV);
	for (;;)
		pause();
	return argument;
}

static void on_term(int sig)
{
	enough = 1;
}

/* mov (%rbx), %rax is three bytes */
static void fault(void)
{
	__asm__ volatile(".byte 0x48, 0x8b, 0x03" ::"b"(8) : "rax", "memory");
}

static void step(uint64_t i)
{
	volatile uint64_t *own = arena.own[me];

	__atomic_fetch_add(&arena.shared, 1, __ATOMIC_SEQ_CST);
	__asm__ volatile("addq %1, %0"
			 : "+m"(own[0])
			 : "r"((uint64_t)me + 1)
			 : "cc");
	__asm__ volatile("incq %0" : "+m"(own[1])::"cc");
	own[2] = own[0];
	own[3] += i;
	done[me]++;
}

static void work_plain(void)
{
	for (uint64_t i = 0; i < rounds && !enough; i++)
		step(i);
}

static void work_handler(void)
{
	for (uint64_t i = 0; i < rounds && !enough; i++) {
		step(i);
		if (i % FAULT_EVERY == 0)
			fault();
	}
	expect(faults[me] == (done[me] + FAULT_EVERY - 1) / FAULT_EVERY);
}

static void work_protect(void)
{
	for (uint64_t i = 0; i < rounds && !enough; i++) {
		step(i);
		expect(mprotect(arena.rest, sizeof(arena.rest),
				PROT_READ | PROT_WRITE) == 0);
	}
}

static void write_numbers(int to)
{
	uint64_t words[8];

	for (uint64_t i = 0; i < rounds; i++) {
		for (int k = 0; k < 8; k++)
			words[k] = i + (uint64_t)k;
		if (write(to, words, sizeof(words)) != sizeof(words))
			_exit(1);
	}
	_exit(0);
}

/* Half of them sleep in read(2): the writer waits for nobody. */
static void work_read(void)
{
	int fd[2], status;
	pid_t writer;

	expect(pipe(fd) == 0);
	writer = fork();
	if (writer == 0)
		write_numbers(fd[1]);
	for (uint64_t i = 0; i < rounds; i++) {
		step(i);
		expect(read(fd[0], (void *)arena.buffer[me],
			    sizeof(arena.buffer[me])) ==
		       sizeof(arena.buffer[me]));
		expect(arena.buffer[me][0] == i);
		expect(arena.buffer[me][7] == i + 7);
	}
	expect(waitpid(writer, &status, 0) == writer && status == 0);
}

static void *work(void *argument)
{
	sigset_t all, now;
	bool blocks;

	me = (int)(intptr_t)argument;
	sigfillset(&all);
	blocks = !strcmp(mode, "blocked") || !strcmp(mode, "masked");
	if (blocks)
		pthread_sigmask(SIG_BLOCK, &all, NULL);
	if (!strcmp(mode, "handler") || !strcmp(mode, "lingers"))
		work_handler();
	else if (!strcmp(mode, "protect"))
		work_protect();
	else if (!strcmp(mode, "read"))
		work_read();
	else
		work_plain();
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	expect(sigismember(&now, SIGTERM) == blocks);
	expect(sigismember(&now, SIGSEGV) == blocks || !strcmp(mode, "masked"));
	return NULL;
}

static void check(int threads)
{
	uint64_t sum = 0;

	for (int i = 0; i < threads; i++) {
		sum += done[i];
		expect(enough || done[i] == rounds);
		expect(arena.own[i][0] == done[i] * (uint64_t)(i + 1));
		expect(arena.own[i][1] == done[i]);
		expect(arena.own[i][2] == arena.own[i][0]);
		expect(arena.own[i][3] == done[i] * (done[i] - 1) / 2);
	}
	expect(arena.shared == sum);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO };
	pthread_t threads[THREADS_MAX];
	int count;
	char c;

	expect(argc == 4);
	mode = argv[1];
	count = atoi(argv[2]);
	rounds = strtoull(argv[3], NULL, 10);
	expect(count >= 1 && count <= THREADS_MAX);
	if (!strcmp(mode, "lingers")) {
		action.sa_sigaction = on_fault_linger;
		expect(!pthread_create(&threads[0], NULL, keep_one_pending,
				       NULL));
	}
	if (!strcmp(mode, "handler") || !strcmp(mode, "lingers"))
		sigaction(SIGSEGV, &action, NULL);

	signal(SIGTERM, on_term);
	puts("ready");
	fflush(stdout);
	expect(read(STDIN_FILENO, &c, 1) == 1);
	for (intptr_t i = 1; i < count; i++)
		expect(!pthread_create(&threads[i], NULL, work, (void *)i));
	work(NULL);
	for (int i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	check(count);
	puts("right");
	return 0;
}
