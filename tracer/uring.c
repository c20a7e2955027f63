/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tracer/process/mem.h"
#include "tracer/uring.h"

enum {
	SQES_MAX = 32768, /* IORING_MAX_ENTRIES */
	VECTORS_MAX = 1024,
	BUFFER_MAX = 1 << 30,
};

struct visitor {
	struct process *process;
	int (*visit)(void *context, uint64_t start, uint64_t end);
	void *context;
};

static int visit(const struct visitor *v, uint64_t start, uint64_t size)
{
	/* What is not mapped is an old entry, or no pointer at all. */
	if (!size || size > BUFFER_MAX || start + size < start ||
	    !maps_find(v->process->maps, start))
		return 0;
	return v->visit(v->context, start, start + size);
}

static int vectors(const struct visitor *v, uint64_t addr, uint64_t count)
{
	struct iovec vector[16];
	int r;

	if (count > VECTORS_MAX)
		return 0;
	r = visit(v, addr, count * sizeof(*vector));
	while (r == 0 && count > 0) {
		size_t n = min_u64(count, ARRAY_SIZE(vector));

		if (mem_read(v->process->mem, addr, vector,
			     n * sizeof(*vector)) < 0)
			return 0;
		for (size_t i = 0; r == 0 && i < n; i++)
			r = visit(v, (uintptr_t)vector[i].iov_base,
				  vector[i].iov_len);
		addr += n * sizeof(*vector);
		count -= n;
	}
	return r;
}

static int message(const struct visitor *v, uint64_t addr)
{
	struct msghdr header;
	int r = visit(v, addr, sizeof(header));

	if (r != 0 ||
	    mem_read(v->process->mem, addr, &header, sizeof(header)) < 0)
		return r;
	r = visit(v, (uintptr_t)header.msg_name, header.msg_namelen);
	if (r == 0)
		r = visit(v, (uintptr_t)header.msg_control,
			  header.msg_controllen);
	return r == 0 ? vectors(v, (uintptr_t)header.msg_iov, header.msg_iovlen)
		      : r;
}

static int entry(const struct visitor *v, const struct io_uring_sqe *sqe)
{
	int r;

	switch (sqe->opcode) {
	case IORING_OP_NOP:
		return 0;
	case IORING_OP_READV:
	case IORING_OP_WRITEV:
		return vectors(v, sqe->addr, sqe->len);
	case IORING_OP_RECVMSG:
	case IORING_OP_SENDMSG:
	case IORING_OP_SENDMSG_ZC:
		return message(v, sqe->addr);
	case IORING_OP_READ:
	case IORING_OP_WRITE:
	case IORING_OP_RECV:
	case IORING_OP_SEND:
	case IORING_OP_SEND_ZC:
		return visit(v, sqe->addr, sqe->len);
	case IORING_OP_PROVIDE_BUFFERS: /* as many as fd says */
		return visit(v, sqe->addr,
			     (uint64_t)sqe->len * (uint32_t)sqe->fd);
	default:
		/* A path, a timeout, a struct: small, and at one of these. */
		r = visit(v, sqe->addr, 256);
		return r == 0 ? visit(v, sqe->addr2, 256) : r;
	}
}

/* A mapping may be longer than its ring. */
static int ring(const struct visitor *v, const struct mapping *m)
{
	struct io_uring_sqe sqe[PAGE / sizeof(struct io_uring_sqe)];
	uint64_t end = min_u64(m->end, m->start + SQES_MAX * sizeof(*sqe));
	int r = 0;

	for (uint64_t at = m->start;
	     r == 0 && at < end &&
	     mem_read(v->process->mem, at, sqe, sizeof(sqe)) == 0;
	     at += PAGE)
		for (size_t i = 0; r == 0 && i < ARRAY_SIZE(sqe); i++)
			r = entry(v, &sqe[i]);
	return r;
}

int uring_buffers(struct process *process,
		  int (*each)(void *context, uint64_t start, uint64_t end),
		  void *context)
{
	const struct visitor v = { process, each, context };
	int r = 0;

	for (size_t i = 0; r == 0 && i < process->maps->count; i++) {
		const struct mapping *m = &process->maps->mapping[i];

		if (m->offset == IORING_OFF_SQES && m->end > m->start &&
		    strcmp(m->path, "anon_inode:[io_uring]") == 0)
			r = ring(&v, m);
	}
	return r;
}
