/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tracer/guard/filter.h"
#include "tracer/guard/syscalls.h"

#define START UINT64_C(0x555555559000)

static const struct filter_rules plain = { 0 };
static struct filter filter;
static uint64_t state = 88172645463325252;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word;

	assert_true(offset + sizeof(word) <= sizeof(*data));
	memcpy(&word, (const char *)data + offset, sizeof(word));
	return word;
}

static uint32_t alu(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + k;
	case BPF_SUB:
		return a - k;
	case BPF_MUL:
		return a * k;
	case BPF_RSH:
		return a >> k;
	case BPF_NEG:
		return -a;
	default:
		fail_msg("operation 0x%x", code);
		return 0;
	}
}

static bool holds(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	case BPF_JSET:
		return a & k;
	default:
		fail_msg("jump 0x%x", code);
		return false;
	}
}

/* What the kernel would answer. */
static uint32_t run(const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = { 0 };

	for (unsigned i = 0; i < filter.count; i++) {
		const struct sock_filter *f = &filter.code[i];
		uint32_t other = BPF_SRC(f->code) == BPF_X ? x : f->k;

		if (f->code == (BPF_LD | BPF_W | BPF_ABS))
			a = load(data, f->k);
		else if (f->code == (BPF_LD | BPF_MEM))
			a = memory[f->k];
		else if (f->code == (BPF_LD | BPF_IMM))
			a = f->k;
		else if (f->code == BPF_ST)
			memory[f->k] = a;
		else if (f->code == (BPF_MISC | BPF_TAX))
			x = a;
		else if (f->code == (BPF_RET | BPF_K))
			return f->k;
		else if (BPF_CLASS(f->code) == BPF_ALU)
			a = alu(f->code, a, other);
		else if (f->code == (BPF_JMP | BPF_JA))
			i += f->k;
		else if (BPF_CLASS(f->code) == BPF_JMP)
			i += holds(f->code, a, other) ? f->jt : f->jf;
		else
			fail_msg("instruction 0x%x", f->code);
	}
	fail_msg("no answer");
	return 0;
}

static bool stops(int number, const uint64_t args[6])
{
	struct seccomp_data data = {
		.nr = number,
		.arch = AUDIT_ARCH_X86_64,
		.instruction_pointer = 0x401000,
	};
	uint32_t answer;

	for (int i = 0; i < 6; i++)
		data.args[i] = args[i];
	answer = run(&data);
	assert_true(answer == SECCOMP_RET_ALLOW ||
		    answer == (SECCOMP_RET_TRACE | FILTER_DATA));
	return answer != SECCOMP_RET_ALLOW;
}

#define STOPS(number, ...) stops(number, (const uint64_t[6]){ __VA_ARGS__ })

static void build(const struct filter_rules *rules, unsigned count,
		  uint64_t start, uint64_t size, uint64_t distance)
{
	struct ranges ranges = { 0 };

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(0, ranges_add(&ranges, start + i * distance,
					       start + i * distance + size, 0));
	assert_int_equal(0, filter_build(&ranges, rules, &filter));
	ranges_done(&ranges);
}

static void sizes_are_exact(void **unused)
{
	build(&plain, 1, START, 4096, 0);
	assert_false(STOPS(SYS_write, 1, START - 64, 64));
	assert_true(STOPS(SYS_write, 1, START - 63, 64));
	assert_true(STOPS(SYS_read, 0, START + 4095, 1));
	assert_false(STOPS(SYS_read, 0, START + 4096, 1 << 20));
	assert_true(STOPS(SYS_read, 0, START - (1 << 20), (1 << 20) + 1));
	assert_false(STOPS(SYS_read, 0, START - (1 << 20), 1 << 20));
	/* same lower half, other upper one */
	assert_false(STOPS(SYS_read, 0, START - (UINT64_C(1) << 32), 4096));
	assert_false(STOPS(SYS_fstat, 1, START - 144));
	assert_true(STOPS(SYS_fstat, 1, START - 143));
	/* an array of two iovec comes from memory; one of two group ids not */
	assert_false(STOPS(SYS_getgroups, 2, START - 8));
	assert_true(STOPS(SYS_getgroups, 3, START - 8));
	assert_true(STOPS(SYS_mincore, 1, 8 * 4096, START - 7));
	assert_true(STOPS(SYS_select, 64, 0, START - 7, 0, 0));
	assert_false(STOPS(SYS_select, 64, 0, START - 16, 0, 0));
}

static void doubtful_sizes_stop(void **unused)
{
	build(&plain, 1, START, 4096, 0);
	assert_true(STOPS(SYS_write, 1, 0x10000, UINT64_C(1) << 32));
	assert_true(STOPS(SYS_write, 1, 0x10000, UINT64_MAX));
	/* it goes on into the 4 GiB where the range lies, or could */
	assert_true(STOPS(SYS_write, 1, 0x5554fffff000, 0x60000000));
	/* the size of an int argument is in its lower half */
	assert_false(STOPS(SYS_getdents64, 3, 0x7fff00001000,
			   UINT64_C(0x1200000020)));
	assert_true(
		STOPS(SYS_getdents64, 3, START - 0x1f, UINT64_C(0x1200000020)));
}

static void what_must_be_seen_stops(void **unused)
{
	static const int always[] = {
		SYS_mmap,
		SYS_munmap,
		SYS_brk,
		SYS_rt_sigaction,
		SYS_rt_sigreturn,
		SYS_clone,
		SYS_clone3,
		SYS_fork,
		SYS_vfork,
		SYS_execve,
		SYS_exit,
		SYS_exit_group,
		SYS_prctl,
		SYS_seccomp,
		SYS_readv,
		SYS_sendmsg,
		SYS_ioctl,
		SYS_io_uring_enter,
		SYS_rseq,
		SYS_ptrace,
		SYS_process_vm_readv,
		SYS_bpf,
		SYS_userfaultfd,
		SYS_perf_event_open,
		5000,
		0x40000001,
	};
	static const int never[] = {
		SYS_getppid, SYS_gettid, SYS_sched_yield, SYS_close, -1,
	};

	build(&plain, 1, START, 4096, 0);
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		assert_true(STOPS(always[i], 0));
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		assert_false(STOPS(never[i], START, START, START, START));
	assert_true(STOPS(SYS_sendto, 3, 0x10000, 1, 0x4000000));
	assert_false(STOPS(SYS_sendto, 3, 0x10000, 1, 0));
}

static bool is_getpid(int number)
{
	return number == SYS_getpid;
}

static void rules_are_kept(void **unused)
{
	static const struct filter_rules blocking = { .blocking = true };
	static const struct filter_rules named = { .always = is_getpid };

	build(&blocking, 1, START, 4096, 0);
	assert_true(STOPS(SYS_read, 0, 0x10000, 1));
	assert_false(STOPS(SYS_stat, 0x10000, 0x20000));
	build(&named, 1, START, 4096, 0);
	assert_true(STOPS(SYS_getpid));
	assert_false(STOPS(SYS_read, 0, 0x10000, 1));
}

static void other_ways_in(void **unused)
{
	struct seccomp_data data = { .nr = SYS_getppid,
				     .arch = AUDIT_ARCH_I386 };

	build(&plain, 1, START, 4096, 0);
	assert_int_equal(SECCOMP_RET_TRACE | FILTER_DATA, run(&data));
	data = (struct seccomp_data){
		.nr = SYS_gettimeofday,
		.arch = AUDIT_ARCH_X86_64,
		.args = { START },
		.instruction_pointer = UINT64_C(0xffffffffff600000),
	};
	assert_int_equal(SECCOMP_RET_ALLOW, run(&data));
}

/* Strings end somewhere; what is nested is not asked for. */
static int read_some(void *context, uint64_t addr, void *buffer, size_t size)
{
	memset(buffer, 'x', size);
	if (random64() % 8 == 0)
		((char *)buffer)[random64() % size] = '\0';
	return 0;
}

static bool touches(const struct call *call, const struct ranges *ranges)
{
	const struct memory memory = { .read = read_some };
	static struct call_plan plan;

	call_describe(call, &memory, &plan);
	if (plan.kind == CALL_UNKNOWN || plan.overflow ||
	    plan.flags & (CALL_MAPS | CALL_SIGNALS | CALL_LATER))
		return true;
	for (unsigned i = 0; i < plan.count; i++)
		if (ranges_overlap(ranges, plan.buffer[i].addr,
				   plan.buffer[i].addr + plan.buffer[i].size))
			return true;
	return false;
}

static uint64_t some_value(const struct ranges *ranges)
{
	const struct range *r = &ranges->range[random64() % ranges->count];

	switch (random64() % 8) {
	case 0:
		return random64();
	case 1:
		return random64() % 16;
	case 2:
		return random64() >> random64() % 64;
	case 3:
		return UINT64_MAX - random64() % 4;
	case 4:
		return 0;
	default:
		return (random64() % 2 ? r->start : r->end) + random64() % 512 -
		       256;
	}
}

/* Beside the table itself: no call that touches a range goes unseen. */
static void nothing_goes_unseen(void **unused)
{
	struct ranges ranges = { 0 };
	unsigned stopped = 0, let_go = 0;

	assert_int_equal(0, ranges_add(&ranges, START, START + 8192, 0));
	/* it crosses a multiple of 4 GiB */
	assert_int_equal(0, ranges_add(&ranges, UINT64_C(0x7f00fffff000),
				       UINT64_C(0x7f0100002000), 0));
	assert_int_equal(0, ranges_add(&ranges, 0x400000, 0x401000, 0));
	assert_int_equal(0, filter_build(&ranges, &plain, &filter));
	for (int i = 0; i < 2000000; i++) {
		struct call call = { .number = (int)(random64() % 472) };

		for (int k = 0; k < 6; k++)
			call.args[k] = some_value(&ranges);
		if (stops(call.number, call.args)) {
			stopped++;
			continue;
		}
		let_go++;
		if (touches(&call, &ranges))
			fail_msg("%s: %jx %jx %jx %jx %jx %jx",
				 syscall_name(call.number), call.args[0],
				 call.args[1], call.args[2], call.args[3],
				 call.args[4], call.args[5]);
	}
	assert_true(let_go > 200000 && stopped > 200000);
	ranges_done(&ranges);
}

static void many_ranges(void **unused)
{
	struct ranges ranges = { 0 };

	/* Joined, they still all stop; what lies far off does not. */
	build(&plain, 200, START, 4096, 8192);
	for (uint64_t i = 0; i < 200; i++)
		assert_true(STOPS(SYS_read, 0, START + 8192 * i, 1));
	assert_false(STOPS(SYS_read, 0, START - 1, 1));
	assert_false(STOPS(SYS_read, 0, START + 8192 * 200, 1));
	for (uint64_t i = 0; i <= FILTER_INPUT; i++)
		assert_int_equal(
			0, ranges_add(&ranges, 8192 * i, 8192 * i + 1, 0));
	assert_int_equal(-E2BIG, filter_build(&ranges, &plain, &filter));
	ranges_done(&ranges);
	/* each in 4 GiB of its own: they cannot be joined */
	for (uint64_t i = 0; i <= FILTER_RANGES; i++)
		assert_int_equal(
			0, ranges_add(&ranges, i << 33, (i << 33) + 4096, 0));
	assert_int_equal(-E2BIG, filter_build(&ranges, &plain, &filter));
	ranges_done(&ranges);
}

/* The kernel takes it, and without a tracer says ENOSYS to what stops. */
static int in_child(const void *page)
{
	struct sock_fprog program = { (uint16_t)filter.count, filter.code };
	char byte = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 1;
	if (write(-1, &byte, 1) != -1 || errno != EBADF)
		return 2;
	if (write(-1, page, 1) != -1 || errno != ENOSYS)
		return 3;
	return getppid() > 0 ? 0 : 4;
}

static void the_kernel_takes_it(void **unused)
{
	void *page =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t child;

	/* As many as there may be, so that the program is the longest. */
	build(&plain, FILTER_RANGES, (uintptr_t)page, 4096, UINT64_C(1) << 32);
	child = fork();
	if (child == 0) {
		status = in_child(page);
		/* exit_group(2) stops, too: without a tracer it is not made */
		syscall(SYS_kill, getpid(), status ? SIGABRT : SIGTERM);
	}
	assert_int_equal(child, waitpid(child, &status, 0));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(SIGTERM, WTERMSIG(status));
	munmap(page, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_exact),
		cmocka_unit_test(doubtful_sizes_stop),
		cmocka_unit_test(what_must_be_seen_stops),
		cmocka_unit_test(rules_are_kept),
		cmocka_unit_test(other_ways_in),
		cmocka_unit_test(nothing_goes_unseen),
		cmocka_unit_test(many_ranges),
		cmocka_unit_test(the_kernel_takes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
