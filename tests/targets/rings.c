/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* watch: control */
/* watch: map:heap */
/* args: lent */
/* args: mapped */
/* args: grown */
/* args: fixed */
/* args: own */
/* args: polled */
/* args: polled_own */
/* args: waits */
/* args: again */
/* args: futexes */
/*
 * An io_uring is given memory in all the ways in which the kernel touches it
 * when it likes, and not by what a submission says.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/targets/target.h"

/* Newer than the headers of Debian 12. */
enum {
	SETUP_NO_MMAP = 1 << 14,
	LENT_MAPPED = 1,
	OP_READ_MULTISHOT = 49,
	OP_FUTEX_WAITV = 53,
	OFF_LENT = 0x80000000,
};
enum { BUFFER = 4096, COUNT = 4, GROUP = 5, ENTRIES = 8 };

static _Alignas(BUFFER) volatile char box[COUNT * BUFFER];
static _Alignas(BUFFER) char control[4 * BUFFER];

static struct {
	int fd;
	struct io_uring_params params;
	char *bytes;
	struct io_uring_sqe *sqe;
} ring;

static int fds[2];

static void *map_ring(uint64_t offset)
{
	void *p = mmap(NULL, 1 << 14, PROT_READ | PROT_WRITE, MAP_SHARED,
		       ring.fd, (off_t)offset);

	expect(p != MAP_FAILED);
	return p;
}

static uint32_t *word(uint32_t offset)
{
	return (uint32_t *)(ring.bytes + offset);
}

static void set_up(uint32_t flags)
{
	bool own = flags & SETUP_NO_MMAP;

	ring.params.flags = flags;
	if (own) {
		ring.params.cq_off.resv2 = (uintptr_t)control;
		ring.params.sq_off.resv2 = (uintptr_t)control + BUFFER;
	}
	ring.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &ring.params);
	if (ring.fd < 0) {
		printf("no ring: %s\n", strerror(errno));
		control[0] = box[0]; /* something is watched in any case */
		exit(0);
	}
	ring.bytes = own ? control : map_ring(IORING_OFF_SQ_RING);
	ring.sqe = own ? (struct io_uring_sqe *)(control + BUFFER)
		       : map_ring(IORING_OFF_SQES);
}

static void put(const struct io_uring_sqe *entry)
{
	const struct io_sqring_offsets *sq = &ring.params.sq_off;
	uint32_t at = *word(sq->tail) & *word(sq->ring_mask);

	ring.sqe[at] = *entry;
	word(sq->array)[at] = at;
	__atomic_add_fetch(word(sq->tail), 1, __ATOMIC_SEQ_CST);
}

static bool is_done(void)
{
	const struct io_cqring_offsets *cq = &ring.params.cq_off;

	return __atomic_load_n(word(cq->tail), __ATOMIC_ACQUIRE) !=
	       *word(cq->head);
}

static int result(void)
{
	const struct io_cqring_offsets *cq = &ring.params.cq_off;
	struct io_uring_cqe *cqe =
		(struct io_uring_cqe *)(ring.bytes + cq->cqes);

	expect(is_done());
	return cqe[(*word(cq->head))++ & *word(cq->ring_mask)].res;
}

/* What became of it. */
static int submit(const struct io_uring_sqe *entry)
{
	put(entry);
	expect(syscall(SYS_io_uring_enter, ring.fd, 1, 1,
		       IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	return result();
}

static void enlist(unsigned op, const void *argument, unsigned count)
{
	if (syscall(SYS_io_uring_register, ring.fd, op, argument, count) == 0)
		return;
	printf("not registered: %s\n", strerror(errno));
	exit(0);
}

static struct io_uring_sqe take_lent(void)
{
	return (struct io_uring_sqe){
		.opcode = IORING_OP_READ,
		.flags = IOSQE_BUFFER_SELECT,
		.fd = fds[0],
		.len = BUFFER,
		.off = UINT64_MAX,
		.buf_group = GROUP,
	};
}

static void read_into_lent(int count)
{
	struct io_uring_sqe take = take_lent();

	for (int i = 0; i < count; i++) {
		expect(write(fds[1], "hello", 5) == 5);
		printf("%d\n", submit(&take));
	}
}

static void lend(struct io_uring_buf_ring *lent, int from, int count)
{
	for (int i = from; i < from + count; i++) {
		lent->bufs[i].addr = (uintptr_t)box + (unsigned)i * BUFFER;
		lent->bufs[i].len = BUFFER;
		lent->bufs[i].bid = (uint16_t)i;
	}
	__atomic_store_n(&lent->tail, (uint16_t)(from + count),
			 __ATOMIC_RELEASE);
}

/* One submission reads all; its third buffer is given by stores alone. */
static void grow(struct io_uring_buf_ring *lent)
{
	struct io_uring_sqe take = take_lent();

	take.opcode = OP_READ_MULTISHOT;
	take.len = 0;
	lend(lent, 0, 2);
	put(&take);
	expect(syscall(SYS_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0) == 1);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			lend(lent, 2, 1);
		expect(write(fds[1], "hello", 5) == 5);
		while (!is_done())
			sched_yield();
		printf("%d\n", result());
	}
}

/* A ring of buffers, in memory of ours or, mapped, of the kernel's. */
static void lent(bool mapped, bool grows)
{
	struct io_uring_buf_ring *buffers = (void *)control;
	struct io_uring_buf_reg reg = {
		.ring_addr = mapped ? 0 : (uintptr_t)buffers,
		.ring_entries = COUNT,
		.bgid = GROUP,
		.pad = mapped ? LENT_MAPPED : 0,
	};

	set_up(0);
	enlist(IORING_REGISTER_PBUF_RING, &reg, 1);
	if (mapped)
		buffers = map_ring(OFF_LENT | GROUP << 16);
	if (grows) {
		grow(buffers);
		return;
	}
	lend(buffers, 0, COUNT);
	read_into_lent(COUNT);
}

/* Buffers that are pinned: the kernel does not look at their pages again. */
static void fixed(bool waits_for_us)
{
	struct iovec vector = { (void *)box, 2 * BUFFER };
	struct io_uring_sqe take = {
		.opcode = IORING_OP_READ_FIXED,
		.addr = (uintptr_t)box + 16,
		.len = 5,
		.off = UINT64_MAX,
	};

	set_up(0);
	enlist(IORING_REGISTER_BUFFERS, &vector, 1);
	if (waits_for_us) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	take.fd = fds[0];
	expect(write(fds[1], "hello", 5) == 5);
	printf("%d\n", submit(&take));
	printf("%c\n", box[16]);
}

static void read_once(const char *how)
{
	bool own = strstr(how, "own"), polled = strstr(how, "polled");
	struct io_uring_sqe take = {
		.opcode = IORING_OP_READ,
		.fd = fds[0],
		.addr = (uintptr_t)box,
		.len = BUFFER,
		.off = UINT64_MAX,
	};

	set_up((own ? SETUP_NO_MMAP : 0) | (polled ? IORING_SETUP_SQPOLL : 0));
	for (int i = 0; i < 3; i++) {
		take.addr += BUFFER;
		expect(write(fds[1], "hello", 5) == 5);
		if (!polled) {
			printf("%d\n", submit(&take));
			continue;
		}
		put(&take);
		if (*word(ring.params.sq_off.flags) & IORING_SQ_NEED_WAKEUP)
			syscall(SYS_io_uring_enter, ring.fd, 0, 0,
				IORING_ENTER_SQ_WAKEUP, NULL, 0);
		while (!is_done())
			sched_yield();
		printf("%d\n", result());
	}
}

/* The time it waits for lies in watched memory, what tells of it does not. */
static void waits(void)
{
	struct timespec *time = (struct timespec *)control;
	struct io_uring_getevents_arg argument = { .ts = (uintptr_t)time };

	set_up(0);
	time->tv_nsec = 1000000;
	expect(syscall(SYS_io_uring_enter, ring.fd, 0, 1,
		       IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument,
		       sizeof(argument)) < 0);
	printf("%s\n", strerror(errno));
}

/* Buffers stay given when the entry that gave them is used again. */
static void again(void)
{
	struct io_uring_sqe give = {
		.opcode = IORING_OP_PROVIDE_BUFFERS,
		.addr = (uintptr_t)box,
		.len = BUFFER,
		.fd = COUNT,
		.buf_group = GROUP,
	};
	const struct io_uring_sqe nothing = { .opcode = IORING_OP_NOP };

	set_up(0);
	printf("%d\n", submit(&give));
	for (int i = 0; i < ENTRIES; i++)
		expect(submit(&nothing) == 0);
	free(malloc(1 << 24)); /* what is watched is looked for anew */
	read_into_lent(COUNT);
}

/* Two words, one of which has changed. */
static void futexes(void)
{
	struct {
		uint64_t value, word;
		uint32_t flags, reserved;
	} *waiter = (void *)control;
	struct io_uring_sqe wait = {
		.opcode = OP_FUTEX_WAITV,
		.addr = (uintptr_t)waiter,
		.len = 2,
	};

	set_up(0);
	for (int i = 0; i < 2; i++) {
		waiter[i].word = (uintptr_t)box + (unsigned)i * BUFFER;
		waiter[i].flags = 2 | 128; /* 32 bits, private */
	}
	box[BUFFER] = 1;
	printf("%s\n", strerror(-submit(&wait)));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	expect(pipe(fds) == 0);
	for (int i = 0; i < COUNT; i++)
		box[i * BUFFER] = '-';
	if (strcmp(how, "lent") == 0)
		lent(false, false);
	else if (strcmp(how, "mapped") == 0)
		lent(true, false);
	else if (strcmp(how, "grown") == 0)
		lent(false, true);
	else if (strcmp(how, "fixed") == 0)
		fixed(argc > 2);
	else if (strcmp(how, "waits") == 0)
		waits();
	else if (strcmp(how, "again") == 0)
		again();
	else if (strcmp(how, "futexes") == 0)
		futexes();
	else
		read_once(how);
	for (int i = 0; i < COUNT; i++)
		printf("%c", box[i * BUFFER]);
	puts("");
	return 0;
}
