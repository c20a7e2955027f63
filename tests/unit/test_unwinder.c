/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of a stopped child against what it noted of itself.  Being forked,
 * it has the modules that dl_iterate_phdr() tells us of ourselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/unwinder_scenes.h"
#include "unwinder/unwinder.h"

enum { MODULES_MAX = 64, STEPS_MAX = 8000 };

static int read_child(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct iovec local = { buffer, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };
	ssize_t n =
		process_vm_readv(*(pid_t *)context, &local, 1, &remote, 1, 0);

	if (n < 0 && errno == ESRCH)
		return -ESRCH;
	return n == (ssize_t)size ? 0 : -EFAULT;
}

struct module_list {
	struct unwinder_module modules[MODULES_MAX];
	size_t count;
};

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct module_list *list = context;
	struct unwinder_module *module = &list->modules[list->count];

	assert_true(list->count < MODULES_MAX);
	*module = (struct unwinder_module){ .start = UINT64_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;
		uint64_t end = start + phdr->p_memsz;

		if (phdr->p_type == PT_GNU_EH_FRAME) {
			module->eh_frame_hdr = start;
			module->eh_frame_hdr_size = phdr->p_memsz;
		}
		if (phdr->p_type != PT_LOAD)
			continue;
		module->start = min_u64(module->start, page_down(start));
		module->end = max_u64(module->end, page_up(end));
		if (phdr->p_flags & PF_X) {
			module->text_start = start;
			module->text_end = end;
		}
	}
	list->count++;
	return 0;
}

/* A stopped child, and what unwinds it. */
struct scene {
	pid_t pid, tid; /* of the child, of the thread that stopped */
	struct unwinder *unwinder;
	struct slots *slots; /* of whatever thread is walked */
	struct frame frames[KNOWN_MAX];
	size_t count;
	size_t fresh; /* frames of the last walk with slots */
};

/* On to the next SIGTRAP or SIGSTOP of any thread. */
static void next_stop(struct scene *scene)
{
	for (int i = 0; i < 100; i++) {
		int status;

		scene->tid = waitpid(-1, &status, __WALL);
		assert_true(scene->tid > 0);
		assert_true(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGTRAP && status >> 16 == 0)
			return;
		if (WSTOPSIG(status) == SIGSTOP && scene->tid == scene->pid)
			return;
		/* births of threads, and signals on their way */
		ptrace(PTRACE_CONT, scene->tid, 0,
		       status >> 16 || WSTOPSIG(status) == SIGSTOP
			       ? 0
			       : WSTOPSIG(status));
	}
	fail_msg("no stop");
}

static void resume(struct scene *scene, int request)
{
	assert_int_equal(ptrace(request, scene->tid, 0, 0), 0);
	next_stop(scene);
}

static struct scene *begin(void **state, void (*function)(int), int argument)
{
	struct module_list list = { .count = 0 };
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	*state = scene;
	memset(shared, 0, sizeof(*shared));
	scene->pid = fork();
	if (scene->pid == 0) {
		alarm(60);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		function(argument);
		_exit(0);
	}
	next_stop(scene);
	ptrace(PTRACE_SETOPTIONS, scene->pid, 0,
	       PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE);
	assert_int_equal(unwinder_new(&scene->unwinder), 0);
	assert_int_equal(slots_new(&scene->slots), 0);
	dl_iterate_phdr(add_module, &list);
	assert_int_equal(
		unwinder_modules(scene->unwinder, list.modules, list.count), 0);
	return scene;
}

/* Also when a test failed half way. */
static int end(void **state)
{
	struct scene *scene = *state;

	if (!scene)
		return 0;
	if (scene->pid)
		kill(scene->pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	slots_free(scene->slots);
	unwinder_free(scene->unwinder);
	free(scene);
	return 0;
}

/* By rules, and with @slots or without: what libunwind said. */
static void assert_same_warm(struct scene *scene, struct slots *slots,
			     const struct user_regs_struct *regs,
			     const struct memory *memory, size_t max, int cold)
{
	struct frame frames[KNOWN_MAX];
	size_t count;

	assert_int_equal(unwinder_walk_warm(scene->unwinder, slots, regs,
					    memory, frames, max, &count,
					    &scene->fresh),
			 cold);
	assert_int_equal(count, scene->count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(frames[i].ip, scene->frames[i].ip);
		assert_int_equal(frames[i].cfa, scene->frames[i].cfa);
	}
}

static int walk_most(struct scene *scene, size_t max)
{
	struct memory memory = { &scene->tid, read_child, NULL };
	struct user_regs_struct regs;
	int r;

	assert_int_equal(ptrace(PTRACE_GETREGS, scene->tid, 0, &regs), 0);
	r = unwinder_walk(scene->unwinder, &regs, &memory, scene->frames, max,
			  &scene->count);
	assert_true(scene->count == 0 || scene->frames[0].ip == regs.rip);
	assert_same_warm(scene, NULL, &regs, &memory, max, r);
	assert_int_equal(scene->fresh, scene->count);
	assert_same_warm(scene, scene->slots, &regs, &memory, max, r);
	return r;
}

static int walk(struct scene *scene)
{
	return walk_most(scene, KNOWN_MAX);
}

static uint64_t known(int i)
{
	return (uintptr_t)shared->known[i];
}

/*
 * The chain is @inner frames and then what was known, less the noting
 * function's own entry, whose address went on meanwhile.
 */
static void assert_chain(const struct scene *scene, int inner)
{
	assert_true(shared->count > 1);
	assert_int_equal(scene->count, inner + shared->count - 1);
	for (int i = 1; i < shared->count; i++)
		assert_int_equal(scene->frames[inner + i - 1].ip, known(i));
	for (size_t i = 1; i < scene->count; i++)
		assert_int_not_equal(scene->frames[i - 1].cfa, 0);
}

static void assert_within(uint64_t ip, void (*function)(void))
{
	assert_in_range(ip, (uintptr_t)function, (uintptr_t)function + 32);
}

static void test_recursion(void **state)
{
	const int depths[] = { 0, 1, 10, 100, 1000 };

	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		struct scene *scene = begin(state, scene_recursion, depths[i]);

		resume(scene, PTRACE_CONT);
		assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
		assert_chain(scene, 1);
		assert_true(shared->count > depths[i]);
		end(state);
		*state = NULL;
	}
}

static void test_truncated(void **state)
{
	struct scene *scene = begin(state, scene_recursion, 100);

	resume(scene, PTRACE_CONT);
	assert_int_equal(walk_most(scene, 5), UNWINDER_END_TRUNCATED);
	assert_int_equal(scene->count, 5);
	assert_int_equal(scene->frames[4].ip, known(4));
}

/* By rules that are learnt on the way, and by rules that are known. */
static void test_register(void **state)
{
	struct scene *scene = begin(state, scene_register, 0);
	struct unwinder_stats stats;

	resume(scene, PTRACE_CONT);
	assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
	assert_chain(scene, 1);
	assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
	unwinder_stats(scene->unwinder, &stats);
	assert_int_equal(stats.declined, 0);
}

/* What stays as it is is not unwound again, however deep the walk goes. */
static void test_reused(void **state)
{
	struct scene *scene = begin(state, scene_recursion, 100);
	struct unwinder_stats stats, before;

	resume(scene, PTRACE_CONT);
	walk(scene);
	assert_int_equal(scene->fresh, scene->count);
	unwinder_stats(scene->unwinder, &before);
	walk(scene);
	assert_int_equal(scene->fresh, 0);
	unwinder_stats(scene->unwinder, &stats);
	assert_int_equal(stats.rules, before.rules);
	assert_int_equal(stats.declined, 0);
	assert_int_equal(stats.reused - before.reused, scene->count);

	resume(scene, PTRACE_SINGLESTEP);
	walk(scene);
	assert_in_range(scene->fresh, 1, 2);
}

/* More is asked for than is known, or than was asked for at first. */
static void test_deeper(void **state)
{
	struct scene *scene = begin(state, scene_recursion, 100);

	resume(scene, PTRACE_CONT);
	assert_int_equal(walk_most(scene, 1), UNWINDER_END_TRUNCATED);
	assert_int_equal(walk_most(scene, 20), UNWINDER_END_TRUNCATED);
	assert_int_equal(scene->fresh, 0);
	assert_int_equal(walk_most(scene, 60), UNWINDER_END_TRUNCATED);
	assert_int_equal(scene->fresh, 60);
	assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
	/* more is known than is asked for, but not too much */
	assert_int_equal(walk_most(scene, scene->count), UNWINDER_END_BOTTOM);
	assert_int_equal(scene->fresh, 0);
	assert_int_equal(walk_most(scene, scene->count - 1),
			 UNWINDER_END_TRUNCATED);
}

static void test_modules_change(void **state)
{
	struct module_list list = { .count = 0 };
	struct scene *scene = begin(state, scene_recursion, 10);

	resume(scene, PTRACE_CONT);
	walk(scene);
	/* now libunwind finds nothing, and nothing is what must be said */
	assert_int_equal(unwinder_modules(scene->unwinder, NULL, 0), 0);
	assert_int_equal(walk(scene), UNWINDER_END_BROKEN);
	assert_int_equal(scene->fresh, scene->count);
	dl_iterate_phdr(add_module, &list);
	assert_int_equal(
		unwinder_modules(scene->unwinder, list.modules, list.count), 0);
	assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
	assert_int_equal(scene->fresh, scene->count);
}

static void test_handler(void **state)
{
	struct scene *scene = begin(state, scene_handler, 0);

	for (int i = 0; i < 3; i++) {
		resume(scene, PTRACE_CONT);
		assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
		assert_chain(scene, 1);
	}
}

static void test_callback(void **state)
{
	struct scene *scene = begin(state, scene_callback, 0);

	for (int i = 0; i < 2; i++) {
		resume(scene, PTRACE_CONT);
		assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
		assert_chain(scene, 1);
	}
}

static void test_leaf_table(void **state)
{
	struct scene *scene = begin(state, scene_leaf_table, 0);

	resume(scene, PTRACE_CONT);
	assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
	assert_chain(scene, 2);
	assert_within(scene->frames[0].ip, leaf_table);
}

static void test_leaf_pointer(void **state)
{
	struct scene *scene = begin(state, scene_leaf_pointer, 0);

	resume(scene, PTRACE_CONT);
	assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
	assert_chain(scene, 2);
	assert_within(scene->frames[0].ip, leaf_pointer);
}

/* An honest end, and not a frame made of what rbp happens to hold. */
static void test_leaf_nothing(void **state)
{
	struct scene *scene = begin(state, scene_leaf_nothing, 0);

	resume(scene, PTRACE_CONT);
	assert_int_equal(walk(scene), UNWINDER_END_BROKEN);
	assert_int_equal(scene->count, 1);
	assert_int_equal(scene->frames[0].cfa, 0);
	assert_within(scene->frames[0].ip, leaf_nothing);
}

static void test_thread(void **state)
{
	struct scene *scene = begin(state, scene_thread, 0);

	resume(scene, PTRACE_CONT);
	assert_int_not_equal(scene->tid, scene->pid);
	assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
	assert_chain(scene, 1);
}

/*
 * makecontext() forges a return address to a function's first byte, and the
 * byte before it belongs to nothing.
 */
static void test_coroutine(void **state)
{
	struct scene *scene = begin(state, scene_coroutine, 0);

	resume(scene, PTRACE_CONT);
	assert_int_equal(walk(scene), UNWINDER_END_BROKEN);
	/* stop_here, recurse 3 times, coroutine, __start_context */
	assert_int_equal(scene->count, 6);
	for (size_t i = 1; i < scene->count; i++)
		assert_int_equal(scene->frames[i].ip, known(i));
}

static void assert_tail(const struct scene *scene)
{
	size_t tail = shared->count - 1;

	assert_true(scene->count > tail);
	for (size_t i = 0; i < tail; i++)
		assert_int_equal(scene->frames[scene->count - 1 - i].ip,
				 known(shared->count - 1 - i));
}

static void test_sleep(void **state)
{
	struct scene *scene = begin(state, scene_sleep, 0);

	ptrace(PTRACE_CONT, scene->pid, 0, 0);
	for (int i = 0; i < 1000 && !shared->done; i++)
		usleep(10000);
	usleep(50000);
	kill(scene->pid, SIGSTOP);
	next_stop(scene);
	assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
	assert_tail(scene);
	/* clock_nanosleep, perhaps nanosleep, and the scene */
	assert_true(scene->count >= (size_t)shared->count + 1);
}

/* Prologues, epilogues, PLT, resolver and vDSO: everywhere the same tail. */
static void test_every_instruction(void **state)
{
	struct scene *scene = begin(state, scene_mixture, 0);
	int steps;

	resume(scene, PTRACE_CONT);
	for (steps = 0; steps < STEPS_MAX && !shared->done; steps++) {
		resume(scene, PTRACE_SINGLESTEP);
		assert_int_equal(walk(scene), UNWINDER_END_BOTTOM);
		assert_tail(scene);
	}
	assert_true(steps > 1000);
}

static void test_gone(void **state)
{
	struct scene *scene = begin(state, scene_recursion, 10);
	struct user_regs_struct regs;
	struct memory memory = { &scene->tid, read_child, NULL };

	resume(scene, PTRACE_CONT);
	ptrace(PTRACE_GETREGS, scene->tid, 0, &regs);
	kill(scene->pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	scene->pid = 0;
	assert_int_equal(unwinder_walk(scene->unwinder, &regs, &memory,
				       scene->frames, KNOWN_MAX, &scene->count),
			 -ESRCH);
	assert_int_equal(scene->count, 0);
	assert_same_warm(scene, scene->slots, &regs, &memory, KNOWN_MAX,
			 -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_recursion, end),
		cmocka_unit_test_teardown(test_truncated, end),
		cmocka_unit_test_teardown(test_register, end),
		cmocka_unit_test_teardown(test_reused, end),
		cmocka_unit_test_teardown(test_deeper, end),
		cmocka_unit_test_teardown(test_modules_change, end),
		cmocka_unit_test_teardown(test_handler, end),
		cmocka_unit_test_teardown(test_callback, end),
		cmocka_unit_test_teardown(test_leaf_table, end),
		cmocka_unit_test_teardown(test_leaf_pointer, end),
		cmocka_unit_test_teardown(test_leaf_nothing, end),
		cmocka_unit_test_teardown(test_thread, end),
		cmocka_unit_test_teardown(test_coroutine, end),
		cmocka_unit_test_teardown(test_sleep, end),
		cmocka_unit_test_teardown(test_every_instruction, end),
		cmocka_unit_test_teardown(test_gone, end),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
