/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that cannot be moved: the addresses matter, or what they touch is not
 * known; and calls with bad addresses.
 */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/live.h"

enum {
	SIZE_U32 = 2,	/* FUTEX2_SIZE_U32 */
	VECTORS = 1024, /* UIO_MAXIOV */
};

static const struct timespec soon = { 0, 1000000 };

/* The kernel wants it aligned: it never lies over a boundary. */
static uint32_t *word(struct scene *s, uint32_t value)
{
	uint64_t at = P(scene_space(s, 8));
	uint32_t *word = (uint32_t *)(uintptr_t)((at + 3) & ~UINT64_C(3));

	*word = value;
	return word;
}

#define TIME P(scene_data(s, &soon, sizeof(soon)))

#define ON_WORDS(name, number, ...)                                            \
	static void set_##name(struct scene *s)                                \
	{                                                                      \
		uint64_t a = P(word(s, 5)), b = P(word(s, 0));                 \
                                                                               \
		(void)(a | b);                                                 \
		SCENE_CALL(s, number, __VA_ARGS__);                            \
	}

ON_WORDS(wake, SYS_futex, a, FUTEX_WAKE, 1)
ON_WORDS(wake_private, SYS_futex, a, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1)
ON_WORDS(wait_other, SYS_futex, a, FUTEX_WAIT, 6)
ON_WORDS(wait_late, SYS_futex, a, FUTEX_WAIT, 5, TIME)
ON_WORDS(wait_bitset, SYS_futex, a, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 5,
	 TIME, 0, 1)
ON_WORDS(wait_crooked, SYS_futex, a + 1, FUTEX_WAIT, 5)
ON_WORDS(wake_op, SYS_futex, a, FUTEX_WAKE_OP, 1, 1, b,
	 FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 0))
ON_WORDS(requeue, SYS_futex, a, FUTEX_REQUEUE, 1, 1, b)
ON_WORDS(cmp_requeue, SYS_futex, a, FUTEX_CMP_REQUEUE, 1, 1, b, 5)
ON_WORDS(cmp_requeue_other, SYS_futex, a, FUTEX_CMP_REQUEUE, 1, 1, b, 6)
ON_WORDS(lock_pi, SYS_futex, b, FUTEX_LOCK_PI, 0, 0)
ON_WORDS(trylock_pi, SYS_futex, b, FUTEX_TRYLOCK_PI, 0, 0)
ON_WORDS(unlock_pi, SYS_futex, a, FUTEX_UNLOCK_PI)
ON_WORDS(futex_wake, 454, a, UINT32_MAX, 1, SIZE_U32)
ON_WORDS(futex_wait, 455, a, 5, UINT32_MAX, SIZE_U32, TIME, CLOCK_MONOTONIC)
ON_WORDS(set_tid_address, SYS_set_tid_address, a)

static uint64_t waiters(struct scene *s, uint32_t second)
{
	struct futex_waitv waiter[2] = {
		{ 5, P(word(s, 5)), SIZE_U32, 0 },
		{ second, P(word(s, 7)), SIZE_U32, 0 },
	};

	return P(scene_data(s, waiter, sizeof(waiter)));
}

static void set_futex_waitv(struct scene *s)
{
	SCENE_CALL(s, SYS_futex_waitv, waiters(s, 8), 2, 0, TIME,
		   CLOCK_MONOTONIC);
}

static void set_futex_waitv_late(struct scene *s)
{
	SCENE_CALL(s, SYS_futex_waitv, waiters(s, 7), 2, 0, TIME,
		   CLOCK_MONOTONIC);
}

static void set_futex_requeue(struct scene *s)
{
	SCENE_CALL(s, 456, waiters(s, 7), 0, 1, 1);
}

static void set_robust_head(struct scene *s)
{
	uint64_t head[3] = { 0 };
	uint64_t *at = scene_data(s, head, sizeof(head));

	at[0] = P(at); /* empty */
	SCENE_CALL(s, SYS_set_robust_list, P(at), sizeof(head));
}

/* One is registered already. */
static void set_rseq(struct scene *s)
{
	SCENE_CALL(s, SYS_rseq, P(scene_space(s, 32)), 32, 0, 0x53053053);
}

static void set_clone(struct scene *s)
{
	SCENE_CALL(s, SYS_clone,
		   CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, 0,
		   P(word(s, 0)), P(word(s, 0)));
}

static void set_clone3(struct scene *s)
{
	uint64_t args[11] = { CLONE_PARENT_SETTID };

	args[3] = P(word(s, 0));
	args[4] = SIGCHLD;
	SCENE_CALL(s, SYS_clone3, P(scene_data(s, args, sizeof(args))),
		   sizeof(args));
}

/* A list of two texts, for a program that is not there. */
static uint64_t texts(struct scene *s)
{
	char *list[3] = { scene_text(s, "one"), scene_text(s, "two") };

	return P(scene_data(s, list, sizeof(list)));
}

static void set_execve(struct scene *s)
{
	SCENE_CALL(s, SYS_execve, P(scene_text(s, "/no/such")), texts(s),
		   texts(s));
}

static void set_execveat(struct scene *s)
{
	SCENE_CALL(s, SYS_execveat, AT_FDCWD, P(scene_text(s, "/no/such")),
		   texts(s), texts(s), 0);
}

static uint64_t aio_context(void)
{
	aio_context_t context = 0;

	return syscall(SYS_io_setup, 8, &context) ? 0 : context;
}

static void set_io_submit(struct scene *s)
{
	struct iocb request = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = (uint32_t)scene_file(),
		.aio_buf = P(scene_space(s, 32)),
		.aio_nbytes = 32,
	};
	void *list = scene_data(s, &request, sizeof(request));

	SCENE_CALL(s, SYS_io_submit, aio_context(), 1,
		   P(scene_data(s, &list, sizeof(list))));
}

static void set_io_cancel(struct scene *s)
{
	struct iocb request = { .aio_fildes = (uint32_t)scene_file() };

	SCENE_CALL(s, SYS_io_cancel, aio_context(),
		   P(scene_data(s, &request, sizeof(request))),
		   P(scene_space(s, 32)));
}

static void set_vmsplice(struct scene *s)
{
	struct iovec iov = { scene_text(s, "abcd"), 4 };
	int fds[2];

	scene_pipe(fds);
	SCENE_CALL(s, SYS_vmsplice, fds[1], P(scene_data(s, &iov, sizeof(iov))),
		   1, 0);
}

static void set_vmsplice_out(struct scene *s)
{
	struct iovec iov = { scene_space(s, 16), 16 };
	int fds[2];

	scene_pipe(fds);
	SCENE_CALL(s, SYS_vmsplice, fds[0], P(scene_data(s, &iov, sizeof(iov))),
		   1, 0);
}

static void set_bpf(struct scene *s)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 8;
	attr.max_entries = 1;
	SCENE_CALL(s, SYS_bpf, BPF_MAP_CREATE,
		   P(scene_data(s, &attr, sizeof(attr))), sizeof(attr));
}

static void set_bpf_lookup(struct scene *s)
{
	uint64_t value = 77;
	uint32_t key = 0;
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 8;
	attr.max_entries = 1;
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = P(&key);
	attr.value = P(&value);
	syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr));
	attr.key = P(scene_data(s, &key, 4));
	attr.value = P(scene_space(s, 8));
	SCENE_CALL(s, SYS_bpf, BPF_MAP_LOOKUP_ELEM,
		   P(scene_data(s, &attr, sizeof(attr))), sizeof(attr));
}

static void set_uring_setup(struct scene *s)
{
	struct io_uring_params params = { 0 };

	SCENE_CALL(s, SYS_io_uring_setup, 4,
		   P(scene_data(s, &params, sizeof(params))));
}

static uint64_t new_ring(void)
{
	struct io_uring_params params = { 0 };

	return (uint64_t)syscall(SYS_io_uring_setup, 4, &params);
}

/* struct io_uring_probe, with room for four operations. */
static void set_uring_probe(struct scene *s)
{
	uint64_t probe[6] = { 0 };

	SCENE_CALL(s, SYS_io_uring_register, new_ring(), IORING_REGISTER_PROBE,
		   P(scene_data(s, probe, sizeof(probe))), 4);
}

static void set_uring_enter(struct scene *s)
{
	uint64_t mask = 1;

	SCENE_CALL(s, SYS_io_uring_enter, new_ring(), 0, 0,
		   IORING_ENTER_GETEVENTS, P(scene_data(s, &mask, 8)), 8);
}

static void remove_semaphores(int id)
{
	semctl(id, 0, IPC_RMID);
}

static void set_getall(struct scene *s)
{
	s->id = semget(IPC_PRIVATE, 6, 0600);
	s->clean = remove_semaphores;
	SCENE_CALL(s, SYS_semctl, s->id, 0, GETALL, P(scene_space(s, 12)));
}

/* No such command: is it a number, or an address? */
static void set_ioctl_unknown(struct scene *s)
{
	SCENE_CALL(s, SYS_ioctl, scene_file(), _IO('x', 1),
		   P(scene_space(s, 8)));
}

static uint64_t many_vectors(struct scene *s, uint8_t byte)
{
	static struct iovec iov[VECTORS];
	uint8_t *data = memset(scene_space(s, 2 * VECTORS), byte, 2 * VECTORS);

	for (size_t i = 0; i < VECTORS; i++)
		iov[i] = (struct iovec){ data + 2 * i, 1 };
	return P(scene_data(s, iov, sizeof(iov)));
}

static void set_readv_many(struct scene *s)
{
	SCENE_CALL(s, SYS_readv, open("/dev/zero", O_RDONLY),
		   many_vectors(s, 1), VECTORS);
}

static void set_writev_many(struct scene *s)
{
	SCENE_CALL(s, SYS_writev, scene_file(), many_vectors(s, 'x'), VECTORS);
}

static void set_readv_too_many(struct scene *s)
{
	SCENE_CALL(s, SYS_readv, scene_file(), many_vectors(s, 'x'),
		   VECTORS + 1);
}

static void set_bad_address(struct scene *s)
{
	SCENE_CALL(s, SYS_read, scene_file(), 1, P(scene_space(s, 8)));
}

/* Vectors: bytes, and memory that is not there. */
static uint64_t half_bad(struct scene *s)
{
	struct iovec iov[2] = {
		{ scene_text(s, "abcd"), 4 },
		{ (void *)(uintptr_t)1, 10 },
	};

	return P(scene_data(s, iov, sizeof(iov)));
}

static void set_readv_bad(struct scene *s)
{
	SCENE_CALL(s, SYS_readv, scene_file(), half_bad(s), 2);
}

static void set_writev_bad(struct scene *s)
{
	SCENE_CALL(s, SYS_writev, scene_file(), half_bad(s), 2);
}

static const struct live_case rows[] = {
	LIVE_ROW(wake, 0),
	LIVE_ROW(wake_private, 0),
	LIVE_ROW(wait_other, LIVE_FAILS),
	LIVE_ROW(wait_late, LIVE_FAILS),
	LIVE_ROW(wait_bitset, LIVE_FAILS),
	LIVE_ROW(wait_crooked, LIVE_FAILS),
	LIVE_ROW(wake_op, 0),
	LIVE_ROW(requeue, 0),
	LIVE_ROW(cmp_requeue, 0),
	LIVE_ROW(cmp_requeue_other, LIVE_FAILS),
	LIVE_ROW(lock_pi, LIVE_CHANGES),
	LIVE_ROW(trylock_pi, LIVE_CHANGES),
	LIVE_ROW(unlock_pi, LIVE_FAILS),
	LIVE_ROW(futex_wake, LIVE_MAY_FAIL),
	LIVE_ROW(futex_wait, LIVE_FAILS),
	LIVE_ROW(futex_waitv, LIVE_FAILS),
	LIVE_ROW(futex_waitv_late, LIVE_FAILS),
	LIVE_ROW(futex_requeue, LIVE_MAY_FAIL),
	LIVE_ROW(set_tid_address, LIVE_CHANGES | LIVE_REFUSED),
	LIVE_ROW(robust_head, LIVE_REFUSED),
	LIVE_ROW(rseq, LIVE_FAILS | LIVE_REFUSED),
	LIVE_ROW(clone, LIVE_CHANGES | LIVE_REFUSED),
	LIVE_ROW(clone3, LIVE_CHANGES | LIVE_REFUSED),
	LIVE_ROW(execve, LIVE_FAILS),
	LIVE_ROW(execveat, LIVE_FAILS),
	LIVE_ROW(io_submit, LIVE_REFUSED),
	LIVE_ROW(io_cancel, LIVE_FAILS | LIVE_REFUSED),
	LIVE_ROW(vmsplice, LIVE_REFUSED),
	LIVE_ROW(vmsplice_out, LIVE_REFUSED),
	LIVE_ROW(bpf, LIVE_MAY_FAIL),
	LIVE_ROW(bpf_lookup, LIVE_MAY_FAIL | LIVE_UNSEEN),
	LIVE_ROW(uring_setup, LIVE_MAY_FAIL),
	LIVE_ROW(uring_probe, LIVE_MAY_FAIL | LIVE_UNSEEN),
	LIVE_ROW(uring_enter, LIVE_MAY_FAIL),
	LIVE_ROW(getall, LIVE_UNSEEN),
	LIVE_ROW(ioctl_unknown, LIVE_FAILS),
	LIVE_ROW(readv_many, LIVE_UNSEEN),
	LIVE_ROW(writev_many, 0),
	LIVE_ROW(readv_too_many, LIVE_FAILS),
	LIVE_ROW(bad_address, LIVE_FAILS),
	LIVE_ROW(readv_bad, 0),
	LIVE_ROW(writev_bad, 0),
};

const struct live_cases live_place = { rows, ARRAY_SIZE(rows) };
