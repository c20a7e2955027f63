/* SPDX-License-Identifier: Apache-2.0 */
#include <asm/unistd_64.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tests/unit/plans.h"

static void test_names(void **state)
{
	int i, holes = 0;

	for (i = 0; i <= 469; i++)
		holes += !syscall_name(i);
	/* 336 to 423 are those of the other architectures. */
	assert_int_equal(holes, 88);
	assert_string_equal(syscall_name(__NR_read), "read");
	assert_string_equal(syscall_name(__NR_vhangup), "vhangup");
	assert_string_equal(syscall_name(__NR_modify_ldt), "modify_ldt");
	assert_string_equal(syscall_name(__NR_rseq), "rseq");
	assert_string_equal(syscall_name(__NR_clone3), "clone3");
	assert_string_equal(syscall_name(462), "mseal");
	assert_null(syscall_name(336));
	assert_null(syscall_name(-1));
	assert_null(syscall_name(470));
}

static void test_flags(void **state)
{
	struct fake fake = { .reads = 0 };
	struct call_plan plan;

	assert_int_equal(call_flags(__NR_read), CALL_BLOCKS);
	assert_int_equal(call_flags(__NR_mmap), CALL_MAPS);
	assert_int_equal(call_flags(__NR_sigaltstack), CALL_SIGNALS);
	assert_int_equal(call_flags(__NR_futex), CALL_BLOCKS | CALL_FUTEX);
	assert_true(call_flags(__NR_io_submit) & CALL_LATER);
	assert_int_equal(call_flags(-5), 0);

	/* With the arguments known, fewer block. */
	DESCRIBE(&fake, __NR_futex, &plan, BASE, FUTEX_WAKE, 1);
	assert_int_equal(plan.flags, CALL_FUTEX);
	DESCRIBE(&fake, __NR_clone, &plan, CLONE_VM | CLONE_VFORK);
	assert_true(plan.flags & CALL_BLOCKS);
}

/* What a command does not look at is no buffer. */
static void test_not_looked_at(void **state)
{
	static struct fake fake;
	struct call_plan plan;

	DESCRIBE(&fake, __NR_epoll_ctl, &plan, 3, 1 /* ADD */, 4, BASE);
	expect(&plan, &(struct want){ BASE, 12, IN, -1, 3 }, 1, "add");
	DESCRIBE(&fake, __NR_epoll_ctl, &plan, 3, 3 /* MOD */, 4, BASE);
	expect(&plan, &(struct want){ BASE, 12, IN, -1, 3 }, 1, "modify");
	DESCRIBE(&fake, __NR_epoll_ctl, &plan, 3, 2 /* DEL */, 4, BASE);
	assert_int_equal(plan.kind, CALL_NONE);

	DESCRIBE(&fake, __NR_syslog, &plan, 3 /* READ_ALL */, BASE, 64);
	expect(&plan, &(struct want){ BASE, 64, OUT, -1, 1 }, 1, "read all");
	for (uint64_t i = 5; i <= 10; i++) {
		DESCRIBE(&fake, __NR_syslog, &plan, i, BASE, 64);
		assert_int_equal(plan.kind, CALL_NONE);
	}
}

/* A string ends at its NUL, at the limit, or with memory. */
static void test_strings(void **state)
{
	static struct fake fake;
	struct call_plan plan;

	memset(fake.bytes, 'x', SIZE);
	DESCRIBE(&fake, __NR_chdir, &plan, BASE + 10);
	expect(&plan, &(struct want){ BASE + 10, 4096, IN, -1, 0 }, 1, "long");
	DESCRIBE(&fake, __NR_chdir, &plan, BASE + SIZE - 300);
	expect(&plan, &(struct want){ BASE + SIZE - 300, 300, IN, -1, 0 }, 1,
	       "no end");
	/* The kernel has its own limits, and must find the end of memory. */
	assert_int_equal(plan.kind, CALL_IN_PLACE);

	fake.bytes[4200] = 0;
	DESCRIBE(&fake, __NR_chdir, &plan, BASE + 4000);
	expect(&plan, &(struct want){ BASE + 4000, 201, IN, -1, 0 }, 1,
	       "over a page");
	fake.bytes[SIZE - 1] = 0;
	DESCRIBE(&fake, __NR_chdir, &plan, BASE + SIZE - 3);
	expect(&plan, &(struct want){ BASE + SIZE - 3, 3, IN, -1, 0 }, 1,
	       "to the end");
}

static void test_vectors(void **state)
{
	static struct fake fake;
	struct iovec iov[3] = { { (void *)0x200000, 10 },
				{ NULL, 5 },
				{ (void *)0x300000, 20 } };
	const struct want want[] = { { BASE, 48, IN, -1, 1 },
				     { 0x200000, 10, OUT, 0, 0 },
				     { 0x300000, 20, OUT, 0, 32 } };
	struct call_plan plan;

	put(&fake, BASE, iov, sizeof(iov));
	DESCRIBE(&fake, __NR_readv, &plan, 3, BASE, 3);
	expect(&plan, want, 3, "readv");
	assert_int_equal(call_written(&plan, 1, 4), 4);
	assert_int_equal(call_written(&plan, 2, 4), 0);
	assert_int_equal(call_written(&plan, 1, 17), 10);
	assert_int_equal(call_written(&plan, 2, 17), 7);
	assert_int_equal(call_written(&plan, 2, 9999), 20);
	assert_int_equal(call_written(&plan, 2, -EFAULT), 0);

	/* More than UIO_MAXIOV is refused before any is read. */
	DESCRIBE(&fake, __NR_readv, &plan, 3, BASE, 1025);
	expect(&plan, NULL, 0, "too many");
	/* The array ends where memory does. */
	put(&fake, BASE + SIZE - 16, iov, 16);
	DESCRIBE(&fake, __NR_readv, &plan, 3, BASE + SIZE - 16, 2);
	assert_int_equal(plan.count, 2);
}

static void test_overflow(void **state)
{
	static struct fake fake;
	struct iovec iov = { (void *)0x200000, 10 };
	struct call_plan plan;
	unsigned i;

	for (i = 0; i < 100; i++)
		put(&fake, BASE + i * sizeof(iov), &iov, sizeof(iov));
	DESCRIBE(&fake, __NR_writev, &plan, 3, BASE, 63);
	assert_false(plan.overflow);
	assert_int_equal(plan.count, CALL_BUFFERS);
	fake.reads = 0;
	DESCRIBE(&fake, __NR_writev, &plan, 3, BASE, 100);
	assert_true(plan.overflow);
	assert_int_equal(plan.count, CALL_BUFFERS);
	assert_true(fake.reads < 70);
}

static void test_messages(void **state)
{
	static struct fake fake;
	struct iovec iov = { (void *)0x200000, 10 };
	struct mmsghdr message = { .msg_hdr = {
					   .msg_name = (void *)0x300000,
					   .msg_namelen = 28,
					   .msg_iov = (void *)(BASE + 512),
					   .msg_iovlen = 1,
					   .msg_control = (void *)0x400000,
					   .msg_controllen = 64,
				   } };
	const struct want want[] = { { BASE, 56, BOTH, -1, 1 },
				     { 0x300000, 28, OUT, 0, 0 },
				     { 0x400000, 64, OUT, 0, 32 },
				     { BASE + 512, 16, IN, 0, 16 },
				     { 0x200000, 10, OUT, 3, 0 } };
	struct call_plan plan;

	put(&fake, BASE, &message, sizeof(message));
	put(&fake, BASE + 64, &message, sizeof(message));
	put(&fake, BASE + 512, &iov, sizeof(iov));
	DESCRIBE(&fake, __NR_recvmsg, &plan, 3, BASE);
	expect(&plan, want, 5, "recvmsg");
	assert_int_equal(call_written(&plan, 4, 7), 7);

	DESCRIBE(&fake, __NR_recvmmsg, &plan, 3, BASE, 2);
	assert_int_equal(plan.count, 9);
	assert_int_equal(plan.buffer[0].size, 128);
	assert_int_equal(plan.buffer[8].addr, 0x200000);
	assert_int_equal(plan.buffer[8].counter, 0);
	assert_int_equal(plan.buffer[8].counter_place, 64 + 56);
	/* The second message did not come. */
	assert_int_equal(call_written(&plan, 8, 1), 0);
	assert_int_equal(call_written(&plan, 8, 2), 10);
}

static void test_lengths(void **state)
{
	static struct fake fake;
	const struct want want[] = { { BASE, 4, BOTH, -1, 2 },
				     { 0x200000, 28, OUT, -1, 1 } };
	struct call_plan plan;

	put_word(&fake, BASE, 28);
	DESCRIBE(&fake, __NR_accept, &plan, 3, 0x200000, BASE);
	expect(&plan, want, 2, "accept");
	DESCRIBE(&fake, __NR_accept, &plan, 3, 0x200000, 0x900000);
	assert_int_equal(plan.count, 1);
	/* A negative socklen_t is an error. */
	put_word(&fake, BASE, 0xffffffff);
	DESCRIBE(&fake, __NR_accept, &plan, 3, 0x200000, BASE);
	expect(&plan, want, 1, "negative");
}

static void test_exec(void **state)
{
	static struct fake fake = { .bytes = "/bin/x" };
	const struct want want[] = { { BASE, 7, IN, -1, 0 },
				     { BASE + 64, 24, IN, -1, 1 },
				     { BASE + 128, 4, IN, 1, 0 },
				     { BASE + 5, 2, IN, 1, 8 } };
	struct call_plan plan;
	unsigned i;

	put(&fake, BASE + 128, "arg", 4);
	put_word(&fake, BASE + 64, BASE + 128);
	put_word(&fake, BASE + 72, BASE + 5);
	DESCRIBE(&fake, __NR_execve, &plan, BASE, BASE + 64, 0);
	expect(&plan, want, 4, "execve");
	assert_int_equal(plan.kind, CALL_IN_PLACE);

	for (i = 0; i < 200; i++)
		put_word(&fake, BASE + 1024 + 8 * i, BASE + 128);
	DESCRIBE(&fake, __NR_execve, &plan, BASE, BASE + 1024, 0);
	assert_true(plan.overflow);
}

static void test_clone3(void **state)
{
	static struct fake fake;
	struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_CHILD_CLEARTID,
		.pidfd = 0x200000,
		.child_tid = 0x300000,
		.parent_tid = 0x400000,
	};
	const struct want want[] = { { BASE, sizeof(args), IN, -1, 0 },
				     { 0x200000, 4, OUT, 0, 8 },
				     { 0x300000, 4, OUT, 0, 16 } };
	struct call_plan plan;

	put(&fake, BASE, &args, sizeof(args));
	DESCRIBE(&fake, __NR_clone3, &plan, BASE, sizeof(args));
	expect(&plan, want, 3, "clone3");
	assert_int_equal(plan.kind, CALL_IN_PLACE);
	assert_int_equal(plan.flags, 0);
}

/* A structure that may hold pointers of its own is not to be trusted. */
static void test_suspects(void **state)
{
	static struct fake fake;
	uint64_t number = _IOWR('x', 1, char[32]);
	struct call_plan plan;

	put_word(&fake, BASE, 12345);
	put_word(&fake, BASE + 24, 0x900000);
	DESCRIBE(&fake, __NR_ioctl, &plan, 3, number, BASE);
	assert_int_equal(plan.kind, CALL_BUFFERED);
	assert_true(plan.open_ended);
	put_word(&fake, BASE + 24, BASE + 5);
	DESCRIBE(&fake, __NR_ioctl, &plan, 3, number, BASE);
	assert_int_equal(plan.kind, CALL_UNKNOWN);
	assert_int_equal(plan.count, 1);
}

/* Whatever the arguments and the memory: bounded, and within the arrays. */
static void test_hostile(void **state)
{
	static struct fake fake;
	uint32_t seed = 12345;
	unsigned i, k;

	for (i = 0; i < 20000; i++) {
		struct call_plan plan;
		uint64_t args[6];

		for (k = 0; k < 6; k++) {
			seed = seed * 1664525 + 1013904223;
			args[k] = (seed & 0x100)   ? BASE + (seed >> 18) % SIZE
				  : (seed & 0x200) ? UINT64_MAX - (seed >> 24)
						   : seed >> 22;
			put_word(&fake, BASE + (seed >> 20) % (SIZE - 8),
				 args[k]);
		}
		fake.reads = 0;
		describe(&fake, (int)(i % 475) - 2, args, &plan);
		assert_true(plan.count <= CALL_BUFFERS);
		assert_true(fake.reads < 20000);
		for (k = 0; k < plan.count; k++) {
			const struct buffer_use *b = &plan.buffer[k];

			assert_true(b->addr && b->size);
			assert_true(b->addr + b->size > b->addr);
			assert_true(b->parent < (int)k);
			assert_true(b->parent >= 0 || b->place < 6);
			assert_true(b->counter < (int)k);
			assert_true(call_written(&plan, k, INT64_MAX) <=
				    b->size);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_not_looked_at),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_clone3),
		cmocka_unit_test(test_suspects),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
