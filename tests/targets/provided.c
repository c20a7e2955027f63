/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* An io_uring reads into buffers that were given to it before. */
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { BUFFER = 4096, COUNT = 4, GROUP = 1 };

static _Alignas(BUFFER) volatile char box[COUNT * BUFFER];

static struct {
	int fd;
	struct io_uring_params params;
	char *bytes;
	struct io_uring_sqe *sqe;
} ring;

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

/* What became of it. */
static int submit(const struct io_uring_sqe *entry)
{
	const struct io_sqring_offsets *sq = &ring.params.sq_off;
	const struct io_cqring_offsets *cq = &ring.params.cq_off;
	struct io_uring_cqe *cqe =
		(struct io_uring_cqe *)(ring.bytes + cq->cqes);
	uint32_t at = *word(sq->tail) & *word(sq->ring_mask);

	ring.sqe[at] = *entry;
	word(sq->array)[at] = at;
	__atomic_add_fetch(word(sq->tail), 1, __ATOMIC_RELEASE);
	expect(syscall(SYS_io_uring_enter, ring.fd, 1, 1,
		       IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	expect(__atomic_load_n(word(cq->tail), __ATOMIC_ACQUIRE) !=
	       *word(cq->head));
	return cqe[(*word(cq->head))++ & *word(cq->ring_mask)].res;
}

int main(void)
{
	struct io_uring_sqe give = {
		.opcode = IORING_OP_PROVIDE_BUFFERS,
		.addr = (uintptr_t)box,
		.len = BUFFER,
		.fd = COUNT,
		.buf_group = GROUP,
	};
	struct io_uring_sqe take = {
		.opcode = IORING_OP_READ,
		.flags = IOSQE_BUFFER_SELECT,
		.len = BUFFER,
		.off = UINT64_MAX,
		.buf_group = GROUP,
	};
	int fds[2];

	ring.fd = (int)syscall(SYS_io_uring_setup, 8, &ring.params);
	expect(ring.fd >= 0);
	ring.bytes = map_ring(IORING_OFF_SQ_RING);
	ring.sqe = map_ring(IORING_OFF_SQES);
	expect(pipe(fds) == 0);
	for (int i = 0; i < COUNT; i++)
		box[i * BUFFER] = '-';
	printf("%d\n", submit(&give));
	take.fd = fds[0];
	for (int i = 0; i < COUNT; i++) {
		expect(write(fds[1], "hello", 5) == 5);
		printf("%d\n", submit(&take));
	}
	for (int i = 0; i < COUNT; i++)
		expect(box[i * BUFFER] == 'h');
	return 0;
}
