/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "tracer/process/inject.h"
#include "tracer/process/survival_layout.h"

/*
 * The survival handler, installed into ourselves: a page is closed, and the
 * tracer that closed it is said to be dead, or not.
 */

struct scene {
	uint8_t *scratch;
	struct survival_own *own;
	struct survival_shared *shared;
	uint64_t *page; /* closed */
};

static volatile int taken;
static uint64_t begun_ns; /* monotonic */

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	taken = sig == SIGSEGV ? info->si_code : -1;
	user->uc_mcontext.gregs[REG_RIP] += 3;
}

static void *map(size_t size, int prot)
{
	void *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void ask(struct disposition *ret)
{
	assert_int_equal(syscall(SYS_rt_sigaction, SIGSEGV, NULL, ret, 8), 0);
}

static void set_ours(const struct scene *scene)
{
	struct disposition ours;

	survival_disposition((uintptr_t)scene->scratch, &scene->own->program,
			     &ours);
	assert_int_equal(syscall(SYS_rt_sigaction, SIGSEGV, &ours, NULL, 8), 0);
}

/* cmocka has handlers of its own from a test's begin to its end. */
static struct scene *set_up(void)
{
	static struct scene scene;
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO };
	size_t size = (size_t)(__stop_cls_survival - __start_cls_survival);

	assert_true(size <= SCRATCH_DATA - SCRATCH_HANDLER);
	scene.scratch = map(SCRATCH_ROOM, PROT_READ | PROT_WRITE);
	memcpy(scene.scratch + SCRATCH_HANDLER, __start_cls_survival, size);
	mprotect(scene.scratch, PAGE, PROT_READ | PROT_EXEC);
	scene.own = (struct survival_own *)(scene.scratch + SCRATCH_OWN);
	scene.shared = map(sizeof(*scene.shared), PROT_READ | PROT_WRITE);
	scene.page = map(PAGE, PROT_READ | PROT_WRITE);

	sigaction(SIGSEGV, &action, NULL);
	ask(&scene.own->program);
	scene.own->shared = scene.shared;
	scene.shared->table[0].count = 1;
	scene.shared->table[0].range[0] =
		(struct survival_range){ (uintptr_t)scene.page,
					 (uintptr_t)scene.page + PAGE,
					 PROT_READ | PROT_WRITE };
	set_ours(&scene);
	mprotect(scene.page, PAGE, PROT_NONE);
	taken = 0;
	return &scene;
}

static void tear_down(struct scene **scene)
{
	signal(SIGSEGV, SIG_DFL);
	munmap((*scene)->scratch, SCRATCH_ROOM);
	munmap((*scene)->shared, sizeof(*(*scene)->shared));
	munmap((*scene)->page, PAGE);
}

static void die(struct scene *scene)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	begun_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	scene->shared->owner = 4711 | FUTEX_OWNER_DIED;
}

/* mov (%rbx), %rax is three bytes; a handler may skip it. */
static uint64_t load(const void *from)
{
	uint64_t value = 1;

	__asm__ volatile(".byte 0x48, 0x8b, 0x03"
			 : "+a"(value)
			 : "b"(from)
			 : "memory");
	return value;
}

static bool is_own(const struct scene *scene)
{
	struct disposition now;

	ask(&now);
	return memcmp(&now, &scene->own->program, sizeof(now)) == 0;
}

static void test_opens(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();

	die(scene);
	assert_int_equal(load(scene->page), 0);
	assert_int_equal(taken, 0);
	scene->page[1] = 5;
	assert_true(is_own(scene));
}

static void test_passes_on(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();

	assert_int_equal(load((void *)8), 1);
	assert_int_equal(taken, SEGV_MAPERR);
	taken = 0;
	/* Closed by the program itself, for all that the handler knows. */
	assert_int_equal(load(scene->page), 1);
	assert_int_equal(taken, SEGV_ACCERR);
	assert_false(is_own(scene));

	die(scene);
	taken = 0;
	assert_int_equal(load((void *)8), 1);
	assert_int_equal(taken, SEGV_MAPERR);
	assert_int_equal(load(scene->page), 0);
	assert_true(is_own(scene));
}

static void test_keeps_to_the_rights(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();

	scene->shared->table[0].range[0].prot = PROT_NONE;
	die(scene);
	assert_int_equal(load(scene->page), 1);
	assert_int_equal(taken, SEGV_ACCERR);
}

/* addq $1, (%rbx) where the tracer was killed, maybe after it had done so. */
static void add_one(struct scene *scene, bool done, bool moved_on)
{
	struct survival_journal *journal = &scene->shared->journal;

	mprotect(scene->page, PAGE, PROT_READ | PROT_WRITE);
	journal->size = 8;
	journal->addr = (uintptr_t)scene->page;
	memcpy(journal->old, scene->page, 8);
	*scene->page += done;
	journal->valid = 1;
	mprotect(scene->page, PAGE, PROT_NONE);
	die(scene);
	__asm__ volatile("lea 1f(%%rip), %%rax\n"
			 "add %3, %%rax\n"
			 "mov %%rax, %0\n"
			 "mov %%rsp, %1\n"
			 "1: addq $1, (%2)"
			 : "=m"(journal->ip), "=m"(journal->sp)
			 : "b"(scene->page), "r"((uint64_t)moved_on)
			 : "rax", "cc", "memory");
}

static void test_undoes(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();

	add_one(scene, true, false);
	assert_int_equal(*scene->page, 1);
	assert_int_equal(scene->shared->journal.valid, 0);
}

static void test_keeps_what_is_done(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();

	add_one(scene, true, true);
	assert_int_equal(*scene->page, 2);
	assert_int_equal(scene->shared->journal.valid, 0);
}

/* Elsewhere by now, it was moved on: nobody waits for it. */
static void test_is_elsewhere(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();
	struct survival_journal *journal = &scene->shared->journal;

	journal->tid = (uint64_t)gettid();
	journal->valid = 1;
	die(scene);
	assert_int_equal(load(scene->page), 0);
	assert_int_equal(journal->valid, 0);
	assert_true(scene->own->opened_ns - begun_ns < 4000000000);
}

/* Another thread's, which does not come, is waited for once. */
static void test_waits_once(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();
	struct survival_journal *journal = &scene->shared->journal;

	journal->tid = (uint64_t)gettid() + 1;
	journal->valid = 1;
	die(scene);
	assert_int_equal(load(scene->page), 0);
	assert_int_equal(journal->valid, 0);
	assert_true(scene->own->opened_ns - begun_ns >= 4000000000);
}

static int end_of_child(struct scene *scene, uint64_t program, bool raised)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		scene->own->program.handler = program;
		if (raised)
			raise(SIGSEGV);
		else
			load((void *)8);
		_exit(7);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_default_and_ignored(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();
	uint64_t by_default = (uintptr_t)SIG_DFL, ignored = (uintptr_t)SIG_IGN;

	for (int dead = 0; dead < 2; dead++) {
		assert_int_equal(
			WTERMSIG(end_of_child(scene, by_default, false)),
			SIGSEGV);
		assert_int_equal(
			WTERMSIG(end_of_child(scene, by_default, true)),
			SIGSEGV);
		assert_int_equal(WTERMSIG(end_of_child(scene, ignored, false)),
				 SIGSEGV);
		assert_int_equal(
			WEXITSTATUS(end_of_child(scene, ignored, true)), 7);
		die(scene);
	}
}

static void test_reset(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();

	scene->own->program.flags |= (uint64_t)SA_RESETHAND;
	assert_int_equal(load((void *)8), 1);
	assert_int_equal(taken, SEGV_MAPERR);
	assert_int_equal(scene->own->program.handler, 0);
}

static bool segv_is_blocked(void)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, SIGSEGV);
}

/* The mask of a thread that believes that it blocks SIGSEGV, unless it has
 * set another one since. */
static void test_blocks_again(void **state)
{
	_cleanup_(tear_down) struct scene *scene = set_up();
	struct survival_blocked *entry = &scene->shared->blocked[3];
	uint64_t mask;
	sigset_t segv;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
	entry->tid = (uint64_t)gettid();
	entry->mask = mask | signal_bit(SIGUSR1) | signal_bit(SIGSEGV);
	die(scene);
	assert_int_equal(load(scene->page), 0);
	assert_false(segv_is_blocked());

	scene->own->state = SURVIVAL_CLOSED;
	set_ours(scene);
	mprotect(scene->page, PAGE, PROT_NONE);
	entry->tid = (uint64_t)gettid();
	entry->mask = mask | signal_bit(SIGSEGV);
	assert_int_equal(load(scene->page), 0);
	assert_true(segv_is_blocked());
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &segv, NULL);
	/* It was told once; what is set from now on is its own. */
	assert_int_equal(load((void *)8), 1);
	assert_false(segv_is_blocked());
}

/* The frame of a handler: the restorer's address, a context, its pointer. */
static uint64_t frame[SURVIVAL_FPSTATE + 1];

/* Its tracer is killed in a handler with that frame. */
static bool stays_blocked(struct survival_frame in)
{
	_cleanup_(tear_down) struct scene *scene = set_up();
	struct survival_blocked *entry = &scene->shared->blocked[3];
	uint64_t mask;
	sigset_t segv;
	bool blocked;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
	*entry = (struct survival_blocked){ .mask = mask | signal_bit(SIGSEGV),
					    .frame = in,
					    .tid = (uint64_t)gettid() };
	die(scene);
	assert_int_equal(load(scene->page), 0);
	blocked = segv_is_blocked();
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &segv, NULL);
	return blocked;
}

/* A handler that has returned since has set its mask itself. */
static void test_handler_returned(void **state)
{
	uint64_t here[512] = { [256] = 17, [256 + SURVIVAL_FPSTATE] = 18 };
	struct survival_frame in = {
		.at = (uintptr_t)&here[256],
		.restorer = 17,
		.fpstate = 18,
	};
	struct survival_frame other = in;

	assert_true(stays_blocked(in));
	other.restorer++;
	assert_false(stays_blocked(other));
	other = in;
	other.fpstate++;
	assert_false(stays_blocked(other));
	/* Below the stack pointer, on another stack, gone. */
	other = in;
	other.at = (uintptr_t)frame;
	frame[0] = 17;
	frame[SURVIVAL_FPSTATE] = 18;
	assert_false(stays_blocked(other));
	other = in;
	other.low = (uintptr_t)here;
	assert_false(stays_blocked(other));
	other.at = UINT64_C(0x7ffffffffff0) & ~UINT64_C(7);
	other.low = 0;
	assert_false(stays_blocked(other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens),
		cmocka_unit_test(test_passes_on),
		cmocka_unit_test(test_keeps_to_the_rights),
		cmocka_unit_test(test_undoes),
		cmocka_unit_test(test_keeps_what_is_done),
		cmocka_unit_test(test_is_elsewhere),
		cmocka_unit_test(test_waits_once),
		cmocka_unit_test(test_default_and_ignored),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_blocks_again),
		cmocka_unit_test(test_handler_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
