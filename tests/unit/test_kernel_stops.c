/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What docs/kernel.md says of stops and interrupted system calls, asked of
 * the kernel.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/unit/kernel_child.h"

enum { RESTART = -512 /* ERESTARTSYS, which no program may see */ };

/* As it is: no libc between, no errno. */
static int64_t raw(long number)
{
	int64_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number)
			 : "rcx", "r11", "memory");
	return result;
}

/* epoll_wait(2) on nothing. */
static int64_t wait_for_nothing(int timeout)
{
	struct epoll_event event;
	int fd = epoll_create1(0);

	return syscall(SYS_epoll_wait, fd, &event, 1, timeout) < 0 ? -errno : 0;
}

static void sleep_in_epoll(struct shared *shared)
{
	shared->result = 1;
	shared->result = wait_for_nothing(10000);
}

static void sleep_in_read(struct shared *shared)
{
	int ends[2];
	char byte;

	shared->result = pipe(ends);
	shared->result = read(ends[0], &byte, 1);
}

static int64_t interrupted_result(void (*body)(struct shared *shared),
				  struct shared *shared, long number)
{
	struct user_regs_struct regs;
	pid_t pid = child_start(body, shared);

	child_wait_in(pid, &pid, number);
	assert_int_equal(trace_seize(pid, 0), 0);
	assert_int_equal(trace_interrupt(pid), 0);
	assert_int_equal(child_stop(pid).kind, STOP_INTERRUPT);
	assert_int_equal(trace_get_regs(pid, &regs), 0);
	kill(pid, SIGKILL);
	assert_int_equal(child_stop(pid).kind, STOP_KILLED);
	return (int64_t)regs.rax;
}

static void test_interrupt_ends_epoll_wait(void **state)
{
	assert_int_equal(
		interrupted_result(sleep_in_epoll, *state, SYS_epoll_wait),
		-EINTR);
}

static void test_interrupt_restarts_read(void **state)
{
	assert_int_equal(interrupted_result(sleep_in_read, *state, SYS_read),
			 RESTART);
}

static void test_job_control_ends_epoll_wait(void **state)
{
	struct shared *shared = *state;
	pid_t pid = child_start(sleep_in_epoll, shared);
	int status;

	child_wait_in(pid, &pid, SYS_epoll_wait);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	assert_int_equal(child_stop(pid).kind, STOP_EXITED);
	assert_int_equal(shared->result, -EINTR);
}

static void epoll_soon(struct shared *shared)
{
	child_spin(shared);
	shared->result = wait_for_nothing(100);
}

/* Detach at the entry of epoll_wait(2): what it gives. */
static int64_t result_after_detach(struct shared *shared, bool taken_back)
{
	pid_t pid = child_start(epoll_soon, shared);
	struct user_regs_struct regs = { 0 };

	child_seize(pid, shared, TRACE_OPTIONS);
	shared->go = 1;
	for (int i = 0; i < 100 && regs.orig_rax != SYS_epoll_wait; i++) {
		assert_int_equal(trace_resume(pid, TRACE_SYSCALL, 0), 0);
		assert_int_equal(child_stop(pid).kind, STOP_SYSCALL);
		assert_int_equal(trace_get_regs(pid, &regs), 0);
	}
	assert_int_equal(regs.orig_rax, SYS_epoll_wait);
	if (taken_back) {
		regs.rax = regs.orig_rax;
		regs.orig_rax = (uint64_t)-1;
		regs.rip -= 2;
		assert_int_equal(trace_set_regs(pid, &regs), 0);
	}
	assert_int_equal(trace_detach(pid, 0), 0);
	assert_int_equal(child_stop(pid).kind, STOP_EXITED);
	return shared->result;
}

static void test_detach_at_entry_interrupts(void **state)
{
	assert_int_equal(result_after_detach(*state, false), -EINTR);
}

static void test_call_taken_back_is_made_again(void **state)
{
	assert_int_equal(result_after_detach(*state, true), 0);
}

static void spin(struct shared *shared)
{
	child_spin(shared);
}

static void test_interrupt_comes_before_a_fault(void **state)
{
	uint64_t segv = UINT64_C(1) << (SIGSEGV - 1), pending = 0;
	pid_t pid = child_start(spin, *state);
	char path[48], line[128];
	FILE *file;

	child_seize(pid, *state, 0);
	assert_int_equal(syscall(SYS_tgkill, pid, pid, SIGSEGV), 0);
	assert_int_equal(trace_interrupt(pid), 0);
	assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	assert_int_equal(child_stop(pid).kind, STOP_INTERRUPT);

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "SigPnd:", 7) == 0)
			pending = strtoull(line + 7, NULL, 16);
	fclose(file);
	assert_true(pending & segv);

	/* who detaches now kills */
	assert_int_equal(trace_detach(pid, 0), 0);
	assert_int_equal(child_stop(pid).value, SIGSEGV);
}

/* Counts its calls; the result is whether one of them gave RESTART. */
static void call_often(struct shared *shared)
{
	shared->ready = 1;
	while (!shared->go) {
		shared->result |= raw(SYS_getppid) == RESTART;
		shared->turns++;
	}
}

/* Does a program see RESTART that its call is left with, as after an
 * injection? */
static bool restart_is_seen(struct shared *shared, bool interrupt)
{
	struct ptrace_syscall_info info = { 0 };
	struct user_regs_struct regs;
	pid_t pid = child_start(call_often, shared);
	uint64_t turns;

	child_seize(pid, shared, TRACE_OPTIONS);
	for (int i = 0; i < 4 && info.op != PTRACE_SYSCALL_INFO_EXIT; i++) {
		assert_int_equal(trace_resume(pid, TRACE_SYSCALL, 0), 0);
		assert_int_equal(child_stop(pid).kind, STOP_SYSCALL);
		assert_int_equal(trace_syscall_info(pid, &info), 0);
	}
	assert_int_equal(info.op, PTRACE_SYSCALL_INFO_EXIT);
	assert_int_equal(trace_get_regs(pid, &regs), 0);
	regs.rax = (uint64_t)RESTART;
	assert_int_equal(trace_set_regs(pid, &regs), 0);
	if (interrupt) {
		assert_int_equal(trace_interrupt(pid), 0);
		assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
		assert_int_equal(child_stop(pid).kind, STOP_INTERRUPT);
	}
	turns = shared->turns;
	assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	for (int i = 0; i < 10000 && shared->turns < turns + 2; i++)
		usleep(1000);
	assert_true(shared->turns >= turns + 2);
	shared->go = 1;
	assert_int_equal(child_stop(pid).kind, STOP_EXITED);
	return shared->result;
}

static void test_restart_is_seen_without_a_trap(void **state)
{
	assert_true(restart_is_seen(*state, false));
}

static void test_restart_is_made_after_a_trap(void **state)
{
	assert_false(restart_is_seen(*state, true));
}

static void fork_once(struct shared *shared)
{
	child_spin(shared);
	shared->result = raw(SYS_fork);
	if (shared->result == 0)
		_exit(0);
}

static void test_event_stop_lies_inside_the_call(void **state)
{
	struct shared *shared = *state;
	struct user_regs_struct regs;
	unsigned long child = 0;
	pid_t pid = child_start(fork_once, shared);

	child_seize(pid, shared, TRACE_OPTIONS);
	shared->go = 1;
	assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	assert_int_equal(child_stop(pid).kind, STOP_CLONE);
	assert_int_equal(trace_event_message(pid, &child), 0);
	assert_int_equal(child_stop((pid_t)child).kind, STOP_INTERRUPT);
	kill((pid_t)child, SIGKILL);

	/* What an injection would set is overwritten with fork's result. */
	assert_int_equal(trace_get_regs(pid, &regs), 0);
	regs.rax = SYS_getpid;
	assert_int_equal(trace_set_regs(pid, &regs), 0);
	assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	while (child_stop(pid).kind == STOP_SIGNAL) /* SIGCHLD */
		assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	assert_int_equal(shared->result, child);
}

static void *keep_mask(void *argument)
{
	struct shared *shared = argument;
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	shared->result = sigismember(&mask, SIGUSR1);
	return NULL;
}

static void thread_once(struct shared *shared)
{
	pthread_t thread;

	shared->result = -1;
	child_spin(shared);
	if (pthread_create(&thread, NULL, keep_mask, shared) == 0)
		pthread_join(thread, NULL);
}

static void test_new_thread_blocks_all(void **state)
{
	uint64_t usr1 = UINT64_C(1) << (SIGUSR1 - 1), mask = 0;
	struct shared *shared = *state;
	pid_t pid = child_start(thread_once, shared);
	unsigned long tid = 0;

	child_seize(pid, shared, TRACE_OPTIONS);
	shared->go = 1;
	assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	assert_int_equal(child_stop(pid).kind, STOP_CLONE);
	assert_int_equal(trace_event_message(pid, &tid), 0);
	assert_int_equal(child_stop((pid_t)tid).kind, STOP_INTERRUPT);
	assert_int_equal(trace_get_mask((pid_t)tid, &mask), 0);
	assert_true(mask & usr1);

	assert_int_equal(trace_detach((pid_t)tid, 0), 0);
	assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	assert_int_equal(child_stop(pid).kind, STOP_EXITED);
	assert_int_equal(shared->result, 0);
}

static void *wait_for_signal(void *argument)
{
	struct shared *shared = argument;

	shared->result = syscall(SYS_gettid);
	pause();
	return NULL;
}

static void sleep_beside_a_thread(struct shared *shared)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_for_signal, shared) == 0)
		child_spin(shared);
}

static void test_leader_ends_last(void **state)
{
	struct shared *shared = *state;
	pid_t pid = child_start(sleep_beside_a_thread, shared);
	char stat[48], text[128] = "";
	struct stop stop;
	pid_t tid;

	child_wait_ready(shared);
	for (int i = 0; i < 10000 && !shared->result; i++)
		usleep(1000);
	tid = (pid_t)shared->result;
	assert_int_equal(trace_seize(pid, 0), 0);
	assert_int_equal(trace_seize(tid, 0), 0);
	kill(pid, SIGKILL);

	snprintf(stat, sizeof(stat), "/proc/%d/stat", pid);
	for (int i = 0; i < 10000 && !strstr(text, ") Z"); i++) {
		_cleanup_(fclosep) FILE *file = fopen(stat, "re");

		usleep(1000);
		if (!file || !fgets(text, sizeof(text), file))
			break;
	}
	assert_non_null(strstr(text, ") Z"));
	/* dead, but not told before the other one was waited for */
	assert_int_equal(stop_wait(pid, false, &stop), -EAGAIN);
	assert_int_equal(child_stop(tid).kind, STOP_KILLED);
	assert_int_equal(child_stop(pid).kind, STOP_KILLED);
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
		test(test_interrupt_ends_epoll_wait),
		test(test_interrupt_restarts_read),
		test(test_job_control_ends_epoll_wait),
		test(test_detach_at_entry_interrupts),
		test(test_call_taken_back_is_made_again),
		test(test_interrupt_comes_before_a_fault),
		test(test_restart_is_seen_without_a_trap),
		test(test_restart_is_made_after_a_trap),
		test(test_event_stop_lies_inside_the_call),
		test(test_new_thread_blocks_all),
		test(test_leader_ends_last),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
