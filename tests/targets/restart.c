/* SPDX-License-Identifier: Apache-2.0 */
/* watch: map:heap */
/* options: --sample=10 */
/*
 * Timed waits on a futex that the kernel itself breaks off and goes on with in
 * restart_syscall(2): a timeout of an io_uring completes meanwhile, and its
 * work is done in the thread that waits.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { ROUNDS = 15, SHORT = 3000000, LONG = 90000000 /* ns */ };

static struct {
	int fd;
	struct io_uring_params params;
	unsigned char *sq;
	struct io_uring_sqe *sqe;
} ring;

static volatile unsigned *word(uint32_t offset)
{
	return (volatile unsigned *)(ring.sq + offset);
}

/* -1: io_uring is switched off here. */
static int set_up(void)
{
	ring.fd = (int)syscall(SYS_io_uring_setup, 256, &ring.params);
	if (ring.fd < 0)
		return -1;
	ring.sq = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
		       IORING_OFF_SQ_RING);
	ring.sqe = mmap(NULL, 256 * sizeof(*ring.sqe), PROT_READ | PROT_WRITE,
			MAP_SHARED, ring.fd, IORING_OFF_SQES);
	expect(ring.sq != MAP_FAILED && ring.sqe != MAP_FAILED);
	return 0;
}

static void start_timeout(long nanoseconds)
{
	static struct __kernel_timespec time;
	unsigned tail = *word(ring.params.sq_off.tail);
	unsigned slot = tail & *word(ring.params.sq_off.ring_mask);

	time.tv_nsec = nanoseconds;
	memset(&ring.sqe[slot], 0, sizeof(ring.sqe[slot]));
	ring.sqe[slot].opcode = IORING_OP_TIMEOUT;
	ring.sqe[slot].addr = (uintptr_t)&time;
	ring.sqe[slot].len = 1;
	word(ring.params.sq_off.array)[slot] = slot;
	__atomic_store_n(word(ring.params.sq_off.tail), tail + 1,
			 __ATOMIC_RELEASE);
	expect(syscall(SYS_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0) == 1);
}

/* The C library's own: the call's number stands before its instruction. */
static void wait_for(sem_t *semaphore)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += LONG;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	expect(sem_timedwait(semaphore, &time) == -1);
}

/* The number comes from elsewhere. */
static void wait_by_number(unsigned *futex)
{
	struct timespec time = { .tv_nsec = LONG };

	expect(syscall(SYS_futex, futex, FUTEX_WAIT_PRIVATE, *futex, &time,
		       NULL, 0) == -1);
}

int main(void)
{
	sem_t *semaphore = calloc(1, 4096);
	unsigned *futex = calloc(1, 4096);
	int here = set_up();

	for (int i = 0; i < ROUNDS; i++) {
		if (here == 0)
			start_timeout(SHORT);
		*futex = (unsigned)i;
		if (i % 2)
			wait_by_number(futex);
		else
			wait_for(semaphore);
		expect(errno == ETIMEDOUT);
	}
	printf("%d waits\n", ROUNDS);
	return 0;
}
