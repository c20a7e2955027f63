/* SPDX-License-Identifier: Apache-2.0 */
/* watch: place */
/*
 * Stacks made to deceive who remembers them: where the words that led to the
 * callers are as they were, and the callers are others.
 *
 *     stacks [CASE ROUNDS [trap]]
 *
 * Every interesting place touches what is watched; with "trap" it also traps.
 * Without arguments all cases are done, a few rounds each.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/targets/target.h"

#ifdef __clang__ /* which makes no clones */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

volatile long place;
static long rounds;
static int traps;

static unsigned dice(unsigned sides)
{
	static unsigned state = 12345;

	state = state * 1664525U + 1013904223U;
	return (state >> 8) % sides;
}

NOINLINE static void here(void)
{
	place++;
	if (traps)
		__asm__ volatile("int3" ::: "memory");
}

/*
 * The same ip and sp at the inner call, and other callers: what they left in
 * the part of the stack that alloca() skips is never overwritten.
 */
NOINLINE static void skip(size_t size)
{
	volatile char *p = alloca(size);

	p[0] = 1;
	here();
	place += p[0];
}

#define SKIPPER(n, size)                                                       \
	NOINLINE static void skipper##n(size_t depth)                          \
	{                                                                      \
		volatile char frame[size];                                     \
                                                                               \
		frame[0] = n;                                                  \
		skip(depth - (size));                                          \
		place += frame[0];                                             \
	}
SKIPPER(0, 64)
SKIPPER(1, 128)
SKIPPER(2, 256)
SKIPPER(3, 512)
SKIPPER(4, 1024)
SKIPPER(5, 2048)

static void case_alloca(void)
{
	static void (*const skippers[])(size_t) = { skipper0, skipper1,
						    skipper2, skipper3,
						    skipper4, skipper5 };

	for (long i = 0; i < rounds; i++)
		skippers[dice(6)](8192 + dice(3) * 16);
}

NOINLINE static void nest(int depth)
{
	if (depth > 0)
		nest(depth - 1);
	else
		here();
	place++;
}

static void handler(int signal)
{
	nest(2);
}

static void catch (int signal, int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	expect(sigaction(signal, &action, NULL) == 0);
}

/* The same handler at the same ip and sp, above another depth. */
NOINLINE static void interrupted(int depth)
{
	volatile long frame = depth;

	if (depth > 0)
		interrupted(depth - 1);
	else
		syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	place += frame;
}

static void case_altstack(void)
{
	stack_t alternate = { .ss_size = 1 << 16 };

	alternate.ss_sp = malloc(alternate.ss_size);
	expect(sigaltstack(&alternate, NULL) == 0);
	catch (SIGUSR1, SA_ONSTACK);
	for (long i = 0; i < rounds; i++)
		interrupted((int)dice(12));
	catch (SIGUSR1, 0);
	for (long i = 0; i < rounds; i++)
		interrupted((int)dice(12));
}

/* Coroutines that begin anew on stacks that were used. */
enum { COROUTINES = 8, COROUTINE_STACK = 1 << 16 };

static ucontext_t resumer, coroutine[COROUTINES];
static char *coroutine_stack[COROUTINES];
static int done[COROUTINES], current;

NOINLINE static void yield(int depth)
{
	volatile char frame[48];

	frame[0] = 1;
	if (depth > 0) {
		yield(depth - 1);
	} else {
		here();
		swapcontext(&coroutine[current], &resumer);
		here();
	}
	place += frame[0];
}

static void coroutine_main(void)
{
	int me = current;

	for (int i = 0; i < 3; i++)
		yield((int)dice(6));
	done[me] = 1;
}

NOINLINE static void resume(int depth)
{
	volatile char frame[32];

	frame[0] = 1;
	if (depth > 0) {
		resume(depth - 1);
	} else {
		swapcontext(&resumer, &coroutine[current]);
		here();
	}
	place += frame[0];
}

static void case_coroutine(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		coroutine_stack[i] = malloc(COROUTINE_STACK);
		done[i] = 1;
	}
	for (volatile long i = 0; i < rounds; i++) {
		ucontext_t *context;

		current = (int)dice(COROUTINES);
		context = &coroutine[current];
		if (done[current] || dice(5) == 0) {
			done[current] = 0;
			getcontext(context);
			context->uc_stack.ss_sp = coroutine_stack[current];
			context->uc_stack.ss_size = COROUTINE_STACK;
			context->uc_link = &resumer;
			makecontext(context, coroutine_main, 0);
		}
		resume((int)dice(5));
	}
}

static jmp_buf back;

NOINLINE static void jump(int depth)
{
	volatile char *frame = alloca(16 + dice(400));

	frame[0] = 1;
	here();
	if (dice(9) == 0)
		longjmp(back, 1);
	if (depth < 30)
		jump(depth + 1);
	here();
	place += frame[0];
}

static void case_longjmp(void)
{
	for (volatile long i = 0; i < rounds; i++) {
		if (setjmp(back) == 0)
			jump(0);
		else
			here();
	}
}

/* Big frames that nobody writes, over the return addresses of others. */
static void stale(unsigned depth);

#define STALE(n, size)                                                         \
	NOINLINE static void stale##n(unsigned depth)                          \
	{                                                                      \
		volatile char frame[size];                                     \
                                                                               \
		if (depth > 100)                                               \
			frame[0] = 1;                                          \
		if (depth)                                                     \
			stale(depth - 1);                                      \
		else                                                           \
			here();                                                \
		place += frame[(size)-1] & 0;                                  \
	}
STALE(0, 8)
STALE(1, 40)
STALE(2, 200)
STALE(3, 1000)
STALE(4, 3000)
STALE(5, 104)

static void stale(unsigned depth)
{
	static void (*const deeper[])(unsigned) = { stale0, stale1, stale2,
						    stale3, stale4, stale5 };

	deeper[dice(6)](depth);
}

static void case_stale(void)
{
	for (long i = 0; i < rounds; i++)
		stale(dice(12));
}

/*
 * A call that does not return is the last instruction of its block: the row
 * of the return address is that of what comes behind.
 */
__attribute__((noreturn)) void leave_for_good(void);

__attribute__((noreturn)) void leave_for_good(void)
{
	here();
	longjmp(back, 1);
}

void falls_or_leaves(long leave);
__asm__(".text\n"
	".globl falls_or_leaves\n"
	".type falls_or_leaves, @function\n"
	"falls_or_leaves:\n"
	".cfi_startproc\n"
	"	test %rdi, %rdi\n"
	"	je 1f\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	call leave_for_good\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"1:	incq place(%rip)\n"
	"	nop\n"
	"	ret\n"
	".cfi_endproc\n"
	".size falls_or_leaves, . - falls_or_leaves\n");

static void case_noreturn(void)
{
	for (volatile long i = 0; i < rounds; i++) {
		if (setjmp(back) == 0)
			falls_or_leaves(dice(2));
	}
}

/* Two libraries in turn at one address; both call back. */
static void case_dlopen(void)
{
	static const char *const names[] = { "stacks_one.so", "stacks_two.so" };
	char directory[3072], path[4096];
	ssize_t length =
		readlink("/proc/self/exe", directory, sizeof(directory) - 1);

	expect(length > 0);
	directory[length] = '\0';
	*strrchr(directory, '/') = '\0';
	for (long i = 0; i < rounds; i++) {
		void (*call)(void (*)(void));
		void *library;

		snprintf(path, sizeof(path), "%s/%s", directory,
			 names[dice(2)]);
		library = dlopen(path, RTLD_NOW);
		expect(library);
		*(void **)&call = dlsym(library, "call_back");
		expect(call);
		call(here);
		dlclose(library);
	}
}

NOINLINE static int fibonacci(int n)
{
	volatile char *frame = alloca(16 + (size_t)n * 8);

	frame[0] = 0;
	if (n < 2) {
		place += n;
		return n;
	}
	return fibonacci(n - 1) + fibonacci(n - 2) + frame[0];
}

static void *count(void *size)
{
	fibonacci((int)(intptr_t)size);
	return NULL;
}

static void case_threads(void)
{
	for (long i = 0; i < rounds; i += 50) {
		pthread_t thread[4];

		for (intptr_t j = 0; j < 4; j++)
			expect(pthread_create(&thread[j], NULL, count,
					      (void *)(4 + j)) == 0);
		for (int j = 0; j < 4; j++)
			pthread_join(thread[j], NULL);
	}
}

/* Handlers upon handlers, wherever the timer finds it. */
enum { STORM_DEPTH = 40 };

static volatile int depth_of_storm;

static void set_timer(void)
{
	struct itimerval timer = { .it_value = { 0, 300 } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void storm(int signal)
{
	if (++depth_of_storm < STORM_DEPTH)
		set_timer();
	nest(2);
	depth_of_storm--;
}

static void case_storm(void)
{
	struct sigaction action = { .sa_handler = storm,
				    .sa_flags = SA_NODEFER | SA_RESTART };

	expect(sigaction(SIGALRM, &action, NULL) == 0);
	for (long i = 0; i < rounds; i += 10) {
		set_timer();
		fibonacci(7);
	}
	signal(SIGALRM, SIG_IGN);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "alloca", case_alloca },	 { "altstack", case_altstack },
	{ "coroutine", case_coroutine }, { "longjmp", case_longjmp },
	{ "stale", case_stale },	 { "noreturn", case_noreturn },
	{ "dlopen", case_dlopen },	 { "threads", case_threads },
	{ "storm", case_storm },
};

int main(int argc, char **argv)
{
	rounds = argc > 2 ? atol(argv[2]) : 30;
	traps = argc > 3;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc < 2 || !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			printf("%s\n", cases[i].name);
		}
	}
	return 0;
}
