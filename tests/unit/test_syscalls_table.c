/* SPDX-License-Identifier: Apache-2.0 */
#include <asm/unistd_64.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "tests/unit/plans.h"

/* Calls whose plan follows from their arguments; "text" is at BASE. */
static const struct simple {
	const char *name;
	int number;
	uint64_t args[6];
	enum call_kind kind;
	unsigned count;
	struct want want[4];
} simple[] = {
	{ "read",
	  __NR_read,
	  { 3, BASE, 100 },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 100, OUT, -1, 1 } } },
	{ "read", __NR_read, { 3, 0, 100 }, CALL_NONE, 0, { { 0 } } },
	{ "read", __NR_read, { 3, BASE, 0 }, CALL_NONE, 0, { { 0 } } },
	{ "read",
	  __NR_read,
	  { 3, BASE, UINT64_MAX },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 0x7ffff000, OUT, -1, 1 } } },
	{ "write",
	  __NR_write,
	  { 3, BASE, 1 << 30 },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 1 << 30, IN, -1, 1 } } },
	{ "openat",
	  __NR_openat,
	  { 3, BASE },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 5, IN, -1, 1 } } },
	{ "openat", __NR_openat, { 3, 0xdead0000 }, CALL_NONE, 0, { { 0 } } },
	{ "rename",
	  __NR_rename,
	  { BASE, BASE + 1 },
	  CALL_BUFFERED,
	  2,
	  { { BASE, 5, IN, -1, 0 }, { BASE + 1, 4, IN, -1, 1 } } },
	{ "poll",
	  __NR_poll,
	  { BASE, UINT64_C(0xffffffff00000002), 0 },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 16, BOTH, -1, 0 } } },
	{ "epoll_wait",
	  __NR_epoll_wait,
	  { 3, BASE, 0xffffffff },
	  CALL_NONE,
	  0,
	  { { 0 } } },
	{ "select",
	  __NR_select,
	  { 65, BASE, 0, 0, BASE + 64 },
	  CALL_BUFFERED,
	  2,
	  { { BASE, 16, BOTH, -1, 1 }, { BASE + 64, 16, BOTH, -1, 4 } } },
	{ "sigprocmask",
	  __NR_rt_sigprocmask,
	  { 0, BASE, BASE + 8, 8 },
	  CALL_BUFFERED,
	  2,
	  { { BASE, 8, IN, -1, 1 }, { BASE + 8, 8, OUT, -1, 2 } } },
	{ "mincore",
	  __NR_mincore,
	  { BASE, 4097, BASE + 64 },
	  CALL_BUFFERED,
	  1,
	  { { BASE + 64, 2, OUT, -1, 2 } } },
	{ "futex wait",
	  __NR_futex,
	  { BASE, FUTEX_WAIT | 128, 0, BASE + 64 },
	  CALL_IN_PLACE,
	  2,
	  { { BASE, 4, IN, -1, 0 }, { BASE + 64, 16, IN, -1, 3 } } },
	/* The third argument counts waiters: it is no timeout. */
	{ "futex wake",
	  __NR_futex,
	  { BASE, FUTEX_WAKE | 128, 1, BASE + 64 },
	  CALL_IN_PLACE,
	  1,
	  { { BASE, 4, 0, -1, 0 } } },
	{ "futex wake op",
	  __NR_futex,
	  { BASE, FUTEX_WAKE_OP, 1, 1, BASE + 64 },
	  CALL_IN_PLACE,
	  2,
	  { { BASE, 4, 0, -1, 0 }, { BASE + 64, 4, BOTH, -1, 4 } } },
	{ "clone",
	  __NR_clone,
	  { CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID, 1, BASE, BASE + 64 },
	  CALL_IN_PLACE,
	  2,
	  { { BASE, 4, OUT, -1, 2 }, { BASE + 64, 4, OUT, -1, 3 } } },
	{ "clone",
	  __NR_clone,
	  { SIGCHLD, 0, BASE, BASE + 64 },
	  CALL_IN_PLACE,
	  0,
	  { { 0 } } },
	{ "rseq",
	  __NR_rseq,
	  { BASE, 32 },
	  CALL_IN_PLACE,
	  1,
	  { { BASE, 32, BOTH, -1, 0 } } },
	{ "ioctl FIONREAD",
	  __NR_ioctl,
	  { 3, FIONREAD, BASE },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 4, OUT, -1, 2 } } },
	{ "ioctl encoded",
	  __NR_ioctl,
	  { 3, _IOR('x', 1, char[24]), BASE },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 24, OUT, -1, 2 } } },
	{ "ioctl no pointer",
	  __NR_ioctl,
	  { 3, _IO('x', 1), 17 },
	  CALL_NONE,
	  0,
	  { { 0 } } },
	{ "ioctl perhaps",
	  __NR_ioctl,
	  { 3, _IO('x', 1), BASE },
	  CALL_UNKNOWN,
	  0,
	  { { 0 } } },
	{ "ioctl FICLONE",
	  __NR_ioctl,
	  { 3, 0x40049409, BASE },
	  CALL_NONE,
	  0,
	  { { 0 } } },
	{ "fcntl F_SETLK",
	  __NR_fcntl,
	  { 3, F_SETLK, BASE },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 32, IN, -1, 2 } } },
	{ "fcntl F_SETFL",
	  __NR_fcntl,
	  { 3, F_SETFL, BASE },
	  CALL_NONE,
	  0,
	  { { 0 } } },
	{ "prctl",
	  __NR_prctl,
	  { 16, BASE },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 16, OUT, -1, 1 } } },
	{ "mq_open",
	  __NR_mq_open,
	  { BASE, O_RDWR, 0, BASE + 64 },
	  CALL_BUFFERED,
	  1,
	  { { BASE, 5, IN, -1, 0 } } },
	{ "send zero copy",
	  __NR_sendto,
	  { 3, BASE, 9, 0x4000000 },
	  CALL_IN_PLACE,
	  1,
	  { { BASE, 9, IN, -1, 1 } } },
	{ "semctl GETALL",
	  __NR_semctl,
	  { 3, 0, 13, BASE },
	  CALL_UNKNOWN,
	  0,
	  { { 0 } } },
	{ "rt_sigreturn",
	  __NR_rt_sigreturn,
	  { 0 },
	  CALL_UNKNOWN,
	  0,
	  { { 0 } } },
	{ "x32 or newer", 1000, { BASE, BASE }, CALL_UNKNOWN, 0, { { 0 } } },
	{ "negative", -1, { BASE }, CALL_UNKNOWN, 0, { { 0 } } },
	{ "hole", 400, { BASE }, CALL_UNKNOWN, 0, { { 0 } } },
};

static void test_simple(void **state)
{
	struct fake fake = { .bytes = "text" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(simple); i++) {
		const struct simple *row = &simple[i];
		struct call_plan plan;

		describe(&fake, row->number, row->args, &plan);
		expect(&plan, row->want, row->count, row->name);
		if (plan.kind != row->kind || plan.overflow)
			fail_msg("%s: kind %d", row->name, plan.kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simple),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
