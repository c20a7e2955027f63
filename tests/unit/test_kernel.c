/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What docs/kernel.md says of the kernel, asked of the kernel: each test is
 * named there.  Programs that are traced are children that end by themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/unit/kernel_child.h"
#include "tracer/process/living.h"

/* A page of this process that is closed until it is unmapped. */
static uint8_t *closed_page(int sharing)
{
	uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			     sharing | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	memset(page, 7, PAGE);
	assert_int_equal(mprotect(page, PAGE, PROT_NONE), 0);
	return page;
}

static void test_memory_is_forced(void **state)
{
	uint8_t *page = closed_page(MAP_PRIVATE), byte = 0;
	struct iovec here = { &byte, 1 }, there = { page, 1 };
	_cleanup_(closep) int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	assert_int_equal(process_vm_readv(getpid(), &here, 1, &there, 1, 0),
			 -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(pread(mem, &byte, 1, (off_t)(uintptr_t)page), 1);
	assert_int_equal(byte, 7);
	byte = 8;
	assert_int_equal(pwrite(mem, &byte, 1, (off_t)(uintptr_t)page), 1);
	assert_int_equal(mprotect(page, PAGE, PROT_READ), 0);
	assert_int_equal(page[0], 8);
	munmap(page, PAGE);
}

static void test_shared_memory_is_not_forced(void **state)
{
	uint8_t *page = closed_page(MAP_SHARED), byte = 0;
	_cleanup_(closep) int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	assert_int_equal(pread(mem, &byte, 1, (off_t)(uintptr_t)page), 1);
	assert_int_equal(byte, 7);
	assert_int_equal(pwrite(mem, &byte, 1, (off_t)(uintptr_t)page), -1);
	assert_int_equal(errno, EIO);
	munmap(page, PAGE);
}

static void test_calls_fail_on_closed_memory(void **state)
{
	uint8_t *page = closed_page(MAP_PRIVATE), byte = 0;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(syscall(SYS_read, ends[0], page, 1), -1);
	assert_int_equal(errno, EFAULT);
	/* the pipe kept it */
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(ends[0]);
	close(ends[1]);
	munmap(page, PAGE);
}

static void test_straddling_read_is_short(void **state)
{
	_cleanup_(closep) int file = open("/proc/self/exe", O_RDONLY);
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(syscall(SYS_read, file, pages + PAGE - 100, 200), 100);
	munmap(pages, 2 * PAGE);
}

static void test_mprotect_stops_at_a_hole(void **state)
{
	uint8_t *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ends[2];

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(munmap(pages + PAGE, PAGE), 0);
	assert_int_equal(mprotect(pages, 3 * PAGE, PROT_NONE), -1);
	assert_int_equal(errno, ENOMEM);

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(syscall(SYS_write, ends[1], pages, 1), -1);
	assert_int_equal(syscall(SYS_write, ends[1], pages + 2 * PAGE, 1), 1);
	close(ends[0]);
	close(ends[1]);
	munmap(pages, 3 * PAGE);
}

static void test_sealed(void **state)
{
	enum { MSEAL = 462 };
	uint8_t *page =
		mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	if (syscall(MSEAL, page, PAGE, 0) < 0)
		skip(); /* before Linux 6.10 */
	assert_int_equal(mprotect(page, PAGE, PROT_NONE), -1);
	assert_int_equal(errno, EPERM);
}

static void test_futex_on_closed_memory(void **state)
{
	uint8_t *page = closed_page(MAP_PRIVATE);
	long wake =
		syscall(SYS_futex, page, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);

	assert_int_equal(wake, 0);
	assert_int_equal(
		syscall(SYS_futex, page, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0),
		-1);
	assert_int_equal(errno, EFAULT);
	munmap(page, PAGE);
}

struct reader {
	uint8_t *page;
	int from;
	volatile pid_t tid;
	long result;
};

static void *read_into(void *argument)
{
	struct reader *reader = argument;

	reader->tid = (pid_t)syscall(SYS_gettid);
	reader->result = syscall(SYS_read, reader->from, reader->page, 1);
	if (reader->result < 0)
		reader->result = -errno;
	return NULL;
}

static void test_closed_while_it_reads(void **state)
{
	struct reader reader = { .page = closed_page(MAP_PRIVATE) };
	pthread_t thread;
	int ends[2];

	assert_int_equal(mprotect(reader.page, PAGE, PROT_WRITE), 0);
	assert_int_equal(pipe(ends), 0);
	reader.from = ends[0];
	assert_int_equal(pthread_create(&thread, NULL, read_into, &reader), 0);
	child_wait_in(getpid(), &reader.tid, SYS_read);
	assert_int_equal(mprotect(reader.page, PAGE, PROT_NONE), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	pthread_join(thread, NULL);
	assert_int_equal(reader.result, -EFAULT);
	close(ends[0]);
	close(ends[1]);
	munmap(reader.page, PAGE);
}

static void on_signal(int signal)
{
}

static void frame_on_closed(struct shared *shared)
{
	uint8_t *stack = mmap(NULL, 16 * PAGE, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action = { .sa_flags = SA_ONSTACK };
	stack_t alternate = { .ss_sp = stack, .ss_size = 16 * PAGE };

	action.sa_handler = on_signal;
	sigaction(SIGUSR1, &action, NULL);
	sigaltstack(&alternate, NULL);
	raise(SIGUSR1);
}

static void test_frame_on_closed_memory_kills(void **state)
{
	struct stop stop = child_stop(child_start(frame_on_closed, *state));

	assert_int_equal(stop.kind, STOP_KILLED);
	assert_int_equal(stop.value, SIGSEGV);
}

/* Bit 0: still blocked; bit 1: still handled. */
static void keep(struct shared *shared, int signal)
{
	struct sigaction action;
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigaction(signal, NULL, &action);
	shared->result = (sigismember(&mask, signal) == 1) |
			 (action.sa_handler == on_signal) << 1;
}

static void block(int signal)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, signal);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	sigaction(signal, &(struct sigaction){ .sa_handler = on_signal }, NULL);
}

static void fault_blocked(struct shared *shared)
{
	uint8_t *page =
		mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	block(SIGSEGV);
	child_spin(shared);
	/* two bytes long: the tracer goes on behind it */
	__asm__ volatile("movb (%0), %%al" : : "a"(page));
	keep(shared, SIGSEGV);
}

static void test_forced_fault_resets(void **state)
{
	struct shared *shared = *state;
	struct user_regs_struct regs;
	pid_t pid = child_start(fault_blocked, shared);
	struct stop stop;

	child_seize(pid, shared, 0);
	shared->go = 1;
	assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	stop = child_stop(pid);
	assert_int_equal(stop.kind, STOP_SIGNAL);
	assert_int_equal(stop.value, SIGSEGV);
	assert_int_equal(trace_get_regs(pid, &regs), 0);
	assert_int_equal(trace_set_ip(pid, regs.rip + 2), 0);
	assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	assert_int_equal(child_stop(pid).kind, STOP_EXITED);
	assert_int_equal(shared->result, 0);
}

static void trap_blocked(struct shared *shared)
{
	block(SIGTRAP);
	child_spin(shared);
	keep(shared, SIGTRAP);
}

static void test_forced_step_resets(void **state)
{
	struct shared *shared = *state;
	pid_t pid = child_start(trap_blocked, shared);

	child_seize(pid, shared, 0);
	assert_int_equal(trace_resume(pid, TRACE_STEP, 0), 0);
	assert_int_equal(child_stop(pid).value, SIGTRAP);
	shared->go = 1;
	assert_int_equal(trace_resume(pid, TRACE_CONT, 0), 0);
	assert_int_equal(child_stop(pid).kind, STOP_EXITED);
	assert_int_equal(shared->result, 0);
}

static void make_ring(struct shared *shared)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL };

	shared->result = syscall(SYS_io_uring_setup, 4, &params);
	child_spin(shared);
}

static void test_uring_worker_is_a_task(void **state)
{
	enum { WORKER = 0x10 | 0x4000 /* PF_IO_WORKER, PF_USER_WORKER */ };
	struct shared *shared = *state;
	pid_t pid = child_start(make_ring, shared);
	unsigned flags;

	child_wait_ready(shared);
	if (shared->result < 0) {
		shared->go = 1;
		child_stop(pid);
		skip(); /* io_uring is forbidden here */
	}
	flags = child_other_task_flags(pid);
	shared->go = 1;
	assert_int_equal(child_stop(pid).kind, STOP_EXITED);
	assert_true(flags & WORKER);
}

static void *outlive_first(void *argument)
{
	struct shared *shared = argument;

	shared->result = syscall(SYS_gettid);
	child_spin(shared);
	_exit(3);
}

static void end_first(struct shared *shared)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, outlive_first, shared) == 0)
		syscall(SYS_exit, 0);
}

static void test_zombie_that_leads(void **state)
{
	struct shared *shared = *state;
	pid_t pid = child_start(end_first, shared), tid;
	char path[48], byte;
	int fd;

	child_wait_ready(shared);
	tid = (pid_t)shared->result;
	for (int i = 0; i < 10000 && living(pid); i++)
		usleep(1000);
	assert_false(living(pid));
	assert_int_equal(living_thread(pid), tid);
	assert_int_equal(trace_seize(pid, 0), -EPERM);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, &byte, 1), 0);
	close(fd);
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, &byte, 1), 1);
	close(fd);
	assert_int_equal(trace_seize(tid, 0), 0);
	shared->go = 1;
	assert_int_equal(child_stop(tid).value, 3);
	assert_int_equal(child_stop(pid).value, 3);
	assert_int_equal(living_thread(pid), 0);
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
		test(test_memory_is_forced),
		test(test_shared_memory_is_not_forced),
		test(test_calls_fail_on_closed_memory),
		test(test_straddling_read_is_short),
		test(test_mprotect_stops_at_a_hole),
		test(test_sealed),
		test(test_futex_on_closed_memory),
		test(test_closed_while_it_reads),
		test(test_frame_on_closed_memory_kills),
		test(test_forced_fault_resets),
		test(test_forced_step_resets),
		test(test_uring_worker_is_a_task),
		test(test_zombie_that_leads),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
