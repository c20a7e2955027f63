/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "tests/unit/kernel_child.h"
#include "tracer/process/inject.h"

/* A child that computes, and never stops by itself. */
static struct process *seized(struct shared *shared)
{
	pid_t pid = child_start(child_spin, shared);
	struct process *process;
	struct thread *thread;

	child_seize(pid, shared, TRACE_OPTIONS);
	assert_int_equal(process_new(pid, &process), 0);
	assert_int_equal(process_add(process, pid, &thread), 0);
	thread->stop.kind = STOP_INTERRUPT;
	thread_set_state(thread, THREAD_STOPPED);
	return process;
}

/*
 * SIGSTOP comes while a call is injected, then @signal, if any, and the child
 * is let go: does it stand still?
 */
static bool is_stopped(struct shared *shared, int signal)
{
	_cleanup_(process_freep) struct process *process = seized(shared);
	struct injection injection;
	int64_t result;

	assert_int_equal(
		inject_begin(&injection, process_thread(process, process->pid)),
		0);
	assert_int_equal(kill(process->pid, SIGSTOP), 0);
	assert_int_equal(inject_call(&injection, SYS_getpid,
				     (const uint64_t[6]){ 0 }, &result),
			 0);
	assert_int_equal(result, process->pid);
	if (signal)
		assert_int_equal(kill(process->pid, signal), 0);
	assert_int_equal(inject_end(&injection), 0);
	assert_int_equal(trace_detach(process->pid, 0), 0);
	for (int i = 0; i < 50 && !thread_is_in_state(process->pid, "T"); i++)
		usleep(1000);
	return thread_is_in_state(process->pid, "T");
}

static void test_a_stop_is_kept(void **state)
{
	assert_true(is_stopped(*state, 0));
}

static void test_a_stop_that_was_ended_is_not(void **state)
{
	assert_false(is_stopped(*state, SIGCONT));
}

static int clear(void **state)
{
	memset(*state, 0, sizeof(struct shared));
	return 0;
}

static int set_up(void **state)
{
	*state = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return *state == MAP_FAILED;
}

#define test(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_a_stop_is_kept),
		test(test_a_stop_that_was_ended_is_not),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
