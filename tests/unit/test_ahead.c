/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "disasm/ahead.h"
#include "disasm/registers.h"
#include "tests/unit/ahead_work.h"

enum { EVENTS = 1 << 16, STACK = 1 << 16 };

static _Alignas(4096) uint64_t words[AHEAD_WORDS];

struct seen {
	uint64_t ip;
	struct access access;
	uint8_t old[8], new[8];
};

/* A child that stands where the work begins, and what became of it. */
struct
try {
	const struct ahead_work *work;
	pid_t pid;
	int memory;
	bool stack;
	uint64_t stop; /* end the run after so many accesses, 0: never */
	struct cpu cpu, real;
	struct seen *ahead, *truth;
	unsigned nahead, ntruth;
};

static struct execute *execute;
static struct ahead *ahead;
static struct windows windows;

static void child(const struct ahead_work *work)
{
	uint64_t (*volatile run)(uint64_t *) = work->run;

	for (unsigned i = 0; i < AHEAD_WORDS; i++)
		words[i] = (i * UINT64_C(0x5851f42d4c957f2d)) ^ (words[i] >> 7);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	run(words);
	_exit(0);
}

static void step(pid_t pid)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
}

static void get(pid_t pid, struct cpu *cpu)
{
	struct iovec vector = { cpu->xstate, XSTATE_MAX };

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &cpu->regs), 0);
	assert_int_equal(ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &vector),
			 0);
	cpu->xstate_size = vector.iov_len;
}

static void begin(struct try *try, const struct ahead_work *work)
{
	char path[32];
	int status;

	*try = (struct try){ .work = work, .stack = true };
	try->ahead = calloc(EVENTS, sizeof(*try->ahead));
	try->truth = calloc(EVENTS, sizeof(*try->truth));
	try->cpu.xstate = aligned_alloc(64, XSTATE_MAX);
	try->real.xstate = aligned_alloc(64, XSTATE_MAX);
	try->pid = fork();
	if (try->pid == 0)
		child(work);
	assert_int_equal(waitpid(try->pid, &status, 0), try->pid);
	assert_true(WIFSTOPPED(status));
	snprintf(path, sizeof(path), "/proc/%d/mem", try->pid);
	try->memory = open(path, O_RDWR | O_CLOEXEC);
	assert_true(try->memory >= 0);
	do {
		step(try->pid);
		get(try->pid, &try->real);
	} while (try->real.regs.rip != (uint64_t)(uintptr_t)work->run);
}

static void end(struct try *try)
{
	kill(try->pid, SIGKILL);
	waitpid(try->pid, NULL, 0);
	close(try->memory);
	free(try->ahead);
	free(try->truth);
	free(try->cpu.xstate);
	free(try->real.xstate);
}

static int load(void *context, uint64_t addr, uint8_t bytes[PAGE])
{
	struct try *try = context;
	uint64_t sp = try->cpu.regs.rsp;

	if (pread(try->memory, bytes, PAGE, (off_t)addr) != (ssize_t)PAGE)
		return 0;
	if (addr == (uint64_t)(uintptr_t)words)
		return WINDOW_READ | WINDOW_WRITE | WINDOW_WATCHED;
	if (addr + PAGE >= sp - STACK && addr <= sp + STACK)
		return try->stack ? WINDOW_READ | WINDOW_WRITE : 0;
	return WINDOW_READ;
}

static int store(void *context, uint64_t addr, const void *bytes, size_t size)
{
	struct try *try = context;

	return pwrite(try->memory, bytes, size, (off_t)addr) == (ssize_t)size
		       ? 0
		       : -errno;
}

static size_t code(void *context, uint64_t ip, uint8_t *bytes, size_t size)
{
	struct try *try = context;
	ssize_t got = pread(try->memory, bytes, size, (off_t)ip);

	return got > 0 ? (size_t)got : 0;
}

static int vector(void *context, struct cpu *cpu)
{
	struct try *try = context;

	memcpy(try->cpu.xstate, try->real.xstate, XSTATE_MAX);
	cpu->xstate = try->cpu.xstate;
	cpu->xstate_size = try->real.xstate_size;
	return 0;
}

static void note(struct seen *seen, uint64_t ip, const struct effect *effect)
{
	size_t size = min_u64(effect->shown, 8);

	*seen = (struct seen){ .ip = ip, .access = effect->access };
	memcpy(seen->old, effect->old, size);
	memcpy(seen->new, effect->new, size);
}

static bool in_words(const struct access *access)
{
	return access->addr - (uint64_t)(uintptr_t)words < sizeof(words);
}

static enum ahead_answer on_access(void *context,
				   const struct ahead_access *access)
{
	struct try *try = context;

	for (unsigned i = 0; i < access->count; i++) {
		if (!in_words(&access->effects[i].access))
			continue;
		assert_true(try->nahead < EVENTS);
		note(&try->ahead[try->nahead++], access->regs->rip,
		     &access->effects[i]);
	}
	return try->stop && try->nahead >= try->stop ? AHEAD_STOP : AHEAD_ON;
}

static struct ahead_result run_ahead(struct try *try, uint64_t budget)
{
	struct ahead_host host = { try, &windows, code, on_access, vector };
	struct ahead_result result;
	uint8_t *xstate = try->cpu.xstate;

	window_clear(&windows);
	windows.context = try;
	windows.load = load;
	windows.store = store;
	try->cpu = (struct cpu){ .regs = try->real.regs };
	try->cpu.xstate = xstate;
	ahead_forget(ahead);
	ahead_run(ahead, &try->cpu, &host, budget, &result);
	return result;
}

static bool decode(struct try *try, uint64_t ip, struct insn *insn)
{
	uint8_t bytes[INSN_BYTES];

	return code(try, ip, bytes, sizeof(bytes)) &&
	       insn_decode(bytes, sizeof(bytes), insn) == 0;
}

static void look(struct try *try, const struct access *access, uint8_t *bytes)
{
	memset(bytes, 0, 8);
	assert_true(pread(try->memory, bytes, min_u64(access->size, 8),
			  (off_t)access->addr) > 0);
}

/* Let the processor do one instruction, and note what it did. */
static void truth(struct try *try)
{
	struct access access[ACCESS_MAX];
	uint64_t ip = try->real.regs.rip;
	unsigned first = try->ntruth, n;
	struct insn insn;

	assert_true(decode(try, ip, &insn));
	n = access_of(&insn, &try->real.regs, access);
	for (unsigned i = 0; i < n; i++) {
		struct seen *seen = &try->truth[try->ntruth];

		if (!in_words(&access[i]))
			continue;
		assert_true(++try->ntruth < EVENTS);
		*seen = (struct seen){ .ip = ip, .access = access[i] };
		look(try, &access[i], seen->old);
	}
	do {
		step(try->pid);
		assert_int_equal(
			ptrace(PTRACE_GETREGS, try->pid, 0, &try->real.regs),
			0);
	} while (insn.repeat && insn.kind == INSN_STRING &&
		 try->real.regs.rip == ip);
	for (unsigned i = first; i < try->ntruth; i++)
		look(try, &try->truth[i].access, try->truth[i].new);
}

static void compare_events(const struct try *try)
{
	assert_int_equal(try->nahead, try->ntruth);
	for (unsigned i = 0; i < try->nahead; i++) {
		const struct seen *a = &try->ahead[i], *b = &try->truth[i];

		assert_int_equal(a->ip, b->ip);
		assert_int_equal(a->access.addr, b->access.addr);
		assert_int_equal(a->access.size, b->access.size);
		assert_int_equal(a->access.op, b->access.op);
		assert_int_equal(a->access.count, b->access.count);
		assert_memory_equal(a->old, b->old, 8);
		assert_memory_equal(a->new, b->new, 8);
	}
}

static void compare_registers(const struct try *try)
{
	struct user_regs_struct a = try->cpu.regs, b = try->real.regs;
	/* What the manuals leave undefined is as the processor left it. */
	const uint64_t mask = ~(uint64_t)(FLAG_TF | FLAG_RF);

	a.eflags &= mask;
	b.eflags &= mask;
	a.orig_rax = b.orig_rax;
	for (unsigned i = 0; i < REGISTERS; i++)
		assert_int_equal(register_get(&a, i), register_get(&b, i));
	assert_int_equal(a.rip, b.rip);
	assert_int_equal(a.eflags, b.eflags);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void compare_vectors(struct try *try, const struct ahead_result *result)
{
	enum { XMM = 160, XMM_END = 416 };

	if (!result->vector)
		return;
	get(try->pid, &try->real);
	assert_memory_equal(try->cpu.xstate + XMM, try->real.xstate + XMM,
			    XMM_END - XMM);
	/* mxcsr */
	assert_memory_equal(try->cpu.xstate + 24, try->real.xstate + 24, 4);
	/* The upper halves of the YMM registers, where every maker has them. */
	assert_memory_equal(try->cpu.xstate + 576, try->real.xstate + 576, 256);
}

static void compare_memory(struct try *try)
{
	for (unsigned i = 0; i < windows.count; i++) {
		uint8_t bytes[PAGE];

		assert_int_equal(pread(try->memory, bytes, PAGE,
				       (off_t)windows.window[i].addr),
				 PAGE);
		assert_memory_equal(windows.window[i].bytes, bytes, PAGE);
	}
}

/* The processor goes the same way; all must be the same then. */
static void follow(struct try *try, const struct ahead_result *result)
{
	for (uint64_t i = 0; i < result->insns; i++)
		truth(try);
	compare_events(try);
	compare_registers(try);
	compare_vectors(try, result);
	compare_memory(try);
}

static void test_same_as_the_processor(void **state)
{
	for (size_t i = 0; i < ahead_works_count; i++) {
		const struct ahead_work *work = &ahead_works[i];
		struct ahead_result result;
		struct try try;

		if (work->avx2 && (!__builtin_cpu_supports("avx2") ||
				   !__builtin_cpu_supports("fma")))
			continue;
		print_message("%s\n", work->name);
		begin(&try, work);
		result = run_ahead(&try, 40000);
		assert_true(try.nahead >= work->least);
		assert_true(result.accesses > 0);
		follow(&try, &result);
		end(&try);
	}
}

/* Wherever a run ends, all is as it is then. */
static void test_any_budget(void **state)
{
	for (uint64_t budget = 1; budget < 1500; budget += 97) {
		const struct ahead_work *work =
			&ahead_works[budget % ahead_works_count];
		struct ahead_result result;
		struct try try;

		if (work->avx2)
			continue;
		begin(&try, work);
		result = run_ahead(&try, budget);
		assert_in_range(result.insns, 1, budget + 16);
		follow(&try, &result);
		end(&try);
	}
}

static void test_stops_when_told(void **state)
{
	struct ahead_result result;
	struct try try;

	begin(&try, &ahead_works[0]);
	try.stop = 100;
	result = run_ahead(&try, 40000);
	assert_int_equal(try.nahead, 100);
	assert_int_equal(result.accesses, 100);
	follow(&try, &result);
	end(&try);
}

static void test_needs_the_stack(void **state)
{
	for (size_t i = 0; i < ahead_works_count; i++) {
		struct try try;

		if (!ahead_works[i].stack)
			continue;
		begin(&try, &ahead_works[i]);
		try.stack = false;
		run_ahead(&try, 40000);
		assert_int_equal(try.nahead, 0);
		end(&try);
	}
}

/* The stores get there, and nothing else does. */
static void test_flush(void **state)
{
	uint8_t before[PAGE], after[PAGE];
	struct try try;

	begin(&try, &ahead_works[2]);
	run_ahead(&try, 100);
	assert_int_equal(
		pread(try.memory, before, PAGE, (off_t)(uintptr_t)words), PAGE);
	/* Behind our back, where the run stored nothing. */
	memset(before + 4000, 0x5a, 96);
	assert_int_equal(pwrite(try.memory, before + 4000, 96,
				(off_t)(uintptr_t)words + 4000),
			 96);
	assert_int_equal(window_flush(&windows), 0);
	assert_int_equal(
		pread(try.memory, after, PAGE, (off_t)(uintptr_t)words), PAGE);
	assert_memory_not_equal(before, after, 64);
	assert_memory_equal(before + 4000, after + 4000, 96);
	end(&try);
}

static void test_single_step_flag(void **state)
{
	struct try try;

	begin(&try, &ahead_works[0]);
	try.real.regs.eflags |= FLAG_TF;
	assert_int_equal(run_ahead(&try, 1000).insns, 0);
	end(&try);
}

static int set_up(void **state)
{
	int r = execute_new(&execute);

	return r < 0 ? r : ahead_new(execute, &ahead);
}

static int tear_down(void **state)
{
	ahead_free(ahead);
	execute_free(execute);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_the_processor),
		cmocka_unit_test(test_any_budget),
		cmocka_unit_test(test_stops_when_told),
		cmocka_unit_test(test_needs_the_stack),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_single_step_flag),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
