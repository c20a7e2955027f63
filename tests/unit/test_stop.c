/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tracer/process/signals.h"
#include "tracer/process/stop.h"

#define STOPPED(event, signal) ((event) << 16 | (signal) << 8 | 0x7f)

static const struct {
	const char *name;
	int status;
	enum stop_kind kind;
	int value;
} cases[] = {
	{ "exit(3)", 3 << 8, STOP_EXITED, 3 },
	{ "killed", SIGKILL, STOP_KILLED, SIGKILL },
	{ "killed with a core", SIGSEGV | 0x80, STOP_KILLED, SIGSEGV },
	{ "fault", STOPPED(0, SIGSEGV), STOP_SIGNAL, SIGSEGV },
	{ "trap", STOPPED(0, SIGTRAP), STOP_SIGNAL, SIGTRAP },
	{ "realtime", STOPPED(0, 64), STOP_SIGNAL, 64 },
	{ "system call", STOPPED(0, SIGTRAP | 0x80), STOP_SYSCALL, 0 },
	{ "our interrupt", STOPPED(PTRACE_EVENT_STOP, SIGTRAP), STOP_INTERRUPT,
	  PTRACE_EVENT_STOP },
	{ "^Z", STOPPED(PTRACE_EVENT_STOP, SIGTSTP), STOP_GROUP, SIGTSTP },
	{ "clone", STOPPED(PTRACE_EVENT_CLONE, SIGTRAP), STOP_CLONE,
	  PTRACE_EVENT_CLONE },
	{ "vfork", STOPPED(PTRACE_EVENT_VFORK, SIGTRAP), STOP_CLONE,
	  PTRACE_EVENT_VFORK },
	{ "vfork done", STOPPED(PTRACE_EVENT_VFORK_DONE, SIGTRAP),
	  STOP_VFORK_DONE, PTRACE_EVENT_VFORK_DONE },
	{ "a filter", STOPPED(PTRACE_EVENT_SECCOMP, SIGTRAP), STOP_SECCOMP,
	  PTRACE_EVENT_SECCOMP },
	{ "exec", STOPPED(PTRACE_EVENT_EXEC, SIGTRAP), STOP_EXEC,
	  PTRACE_EVENT_EXEC },
	{ "unheard of", STOPPED(99, SIGTRAP), STOP_OTHER, 99 },
};

static void test_classify(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stop stop = stop_classify(42, cases[i].status);

		if (stop.kind != cases[i].kind || stop.value != cases[i].value)
			fail_msg("%s: kind %d, value %d", cases[i].name,
				 stop.kind, stop.value);
		assert_int_equal(stop.tid, 42);
		assert_int_equal(stop.status, cases[i].status);
	}
}

static void test_nobody_to_wait_for(void **state)
{
	struct stop stop;

	assert_int_equal(stop_wait(-1, true, &stop), -10 /* ECHILD */);
}

static void test_wait_is_bounded(void **state)
{
	struct timespec start, end;
	int wait[2];
	struct stop stop;
	pid_t child;
	char byte;

	assert_int_equal(pipe(wait), 0);
	child = fork();
	if (child == 0) {
		close(wait[1]);
		_exit((int)read(wait[0], &byte, 1) + 3);
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_int_equal(stop_wait_for(child, 20000000, &stop),
			 -11 /* EAGAIN */);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true((end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec -
			    start.tv_nsec >=
		    20000000);
	close(wait[1]);
	assert_int_equal(stop_wait_for(child, UINT64_C(60000000000), &stop), 0);
	assert_int_equal(stop.kind, STOP_EXITED);
	assert_int_equal(stop.value, 3);
	close(wait[0]);
	assert_int_equal(stop_wait_for(child, 0, &stop), -10 /* ECHILD */);
}

static void test_dispositions(void **state)
{
	struct dispositions all = { .known = true };

	assert_true(disposition_ignores(&all, SIGCHLD));
	assert_false(disposition_ignores(&all, SIGTERM));
	assert_false(disposition_handles(&all, SIGTERM));
	all.signal[SIGTERM].handler = 1; /* SIG_IGN */
	assert_true(disposition_ignores(&all, SIGTERM));
	assert_false(disposition_handles(&all, SIGTERM));
	all.signal[SIGCHLD].handler = 0x1234;
	assert_false(disposition_ignores(&all, SIGCHLD));
	assert_true(disposition_handles(&all, SIGCHLD));
}

static void test_mask_in_a_handler(void **state)
{
	struct dispositions all = { .known = true };
	uint64_t hup = signal_bit(SIGHUP), usr = signal_bit(SIGUSR1);

	all.signal[SIGUSR1].mask = hup;
	assert_int_equal(disposition_mask(&all, SIGUSR1, 0), hup | usr);
	all.signal[SIGUSR1].flags = SA_NODEFER;
	assert_int_equal(disposition_mask(&all, SIGUSR1, 0), hup);
	assert_int_equal(disposition_mask(&all, SIGUSR1, usr), hup | usr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classify),
		cmocka_unit_test(test_nobody_to_wait_for),
		cmocka_unit_test(test_wait_is_bounded),
		cmocka_unit_test(test_dispositions),
		cmocka_unit_test(test_mask_in_a_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
