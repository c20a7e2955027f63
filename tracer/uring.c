/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tracer/process/mem.h"
#include "tracer/uring.h"

enum {
	SQES_MAX = 32768,      /* IORING_MAX_ENTRIES */
	VECTORS_MAX = 1 << 14, /* IORING_MAX_REG_BUFFERS */
	BUFFER_MAX = 1 << 30,
	SMALL = 256, /* a path, a timeout, a struct */
};

/* Newer than the kernel headers of Debian 12. */
enum {
	OP_FUTEX_WAITV = 53,
	OP_EPOLL_WAIT = 59,
	OP_READV_FIXED = 60,
	OP_WRITEV_FIXED = 61,
};

/* What is not mapped is an old entry, or no pointer at all. */
static bool is_buffer(const struct uring_visitor *v, uint64_t start,
		      uint64_t size)
{
	return size && size <= BUFFER_MAX && start + size >= start &&
	       maps_find(v->process->maps, start);
}

static int visit(const struct uring_visitor *v, uint64_t start, uint64_t size)
{
	return is_buffer(v, start, size)
		       ? v->visit(v->context, start, start + size, false)
		       : 0;
}

/* It stays given when the entry is used again. */
static int lasting(const struct uring_visitor *v, uint64_t start, uint64_t size)
{
	return is_buffer(v, start, size)
		       ? v->visit(v->context, start, start + size, true)
		       : 0;
}

int uring_vectors(const struct uring_visitor *v, uint64_t addr, uint64_t count)
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

static int message(const struct uring_visitor *v, uint64_t addr)
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
	return r == 0 ? uring_vectors(v, (uintptr_t)header.msg_iov,
				      header.msg_iovlen)
		      : r;
}

/* Words that the kernel looks at, each told by a struct futex_waitv. */
static int futexes(const struct uring_visitor *v, uint64_t addr, uint64_t count)
{
	uint64_t waiter[3]; /* value, address, flags */
	int r = visit(v, addr, count * sizeof(waiter));

	for (; r == 0 && count > 0; count--, addr += sizeof(waiter)) {
		if (mem_read(v->process->mem, addr, waiter, sizeof(waiter)) < 0)
			return 0;
		r = visit(v, waiter[1], sizeof(uint32_t));
	}
	return r;
}

/* Of a driver: any word may point to something. */
static int command(const struct uring_visitor *v,
		   const struct io_uring_sqe *sqe)
{
	const uint64_t *word = (const uint64_t *)sqe;
	int r = 0;

	for (size_t i = 1; r == 0 && i < sizeof(*sqe) / sizeof(*word); i++)
		r = visit(v, word[i], SMALL);
	return r;
}

static int small(const struct uring_visitor *v, const struct io_uring_sqe *sqe)
{
	int r = visit(v, sqe->addr, SMALL);

	if (r == 0)
		r = visit(v, sqe->addr2, SMALL);
	return r == 0 ? visit(v, sqe->addr3, SMALL) : r;
}

static int entry(const struct uring_visitor *v, const struct io_uring_sqe *sqe)
{
	int r;

	switch (sqe->opcode) {
	case IORING_OP_NOP:
	case IORING_OP_FSYNC:
	case IORING_OP_POLL_ADD:
	case IORING_OP_POLL_REMOVE: /* what names the other is no pointer */
	case IORING_OP_ASYNC_CANCEL:
	case IORING_OP_CLOSE:
	case IORING_OP_MSG_RING:
		return 0;
	case IORING_OP_READV:
	case IORING_OP_WRITEV:
	case OP_READV_FIXED:
	case OP_WRITEV_FIXED:
		return uring_vectors(v, sqe->addr, sqe->len);
	case IORING_OP_RECVMSG:
	case IORING_OP_SENDMSG:
	case IORING_OP_SENDMSG_ZC:
		return message(v, sqe->addr);
	case IORING_OP_SEND:
	case IORING_OP_SEND_ZC: /* to an address */
		r = visit(v, sqe->addr, sqe->len);
		return r == 0 ? visit(v, sqe->addr2, SMALL) : r;
	case IORING_OP_READ:
	case IORING_OP_WRITE:
	case IORING_OP_READ_FIXED:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_RECV:
		return visit(v, sqe->addr, sqe->len);
	case IORING_OP_FGETXATTR:
	case IORING_OP_GETXATTR:
	case IORING_OP_FSETXATTR:
	case IORING_OP_SETXATTR:
		r = visit(v, sqe->addr2, sqe->len);
		return r == 0 ? small(v, sqe) : r;
	case IORING_OP_FILES_UPDATE:
		return visit(v, sqe->addr, (uint64_t)sqe->len * sizeof(int));
	case OP_EPOLL_WAIT: /* 12 bytes each */
		return visit(v, sqe->addr, (uint64_t)sqe->len * 12);
	case OP_FUTEX_WAITV:
		return futexes(v, sqe->addr, min_u64(sqe->len, VECTORS_MAX));
	case IORING_OP_PROVIDE_BUFFERS: /* as many as fd says */
		return lasting(v, sqe->addr,
			       (uint64_t)sqe->len * (uint32_t)sqe->fd);
	case IORING_OP_URING_CMD:
		return command(v, sqe);
	default:
		return small(v, sqe);
	}
}

static int entries(const struct uring_visitor *v, uint64_t start, uint64_t end)
{
	struct io_uring_sqe sqe[PAGE / sizeof(struct io_uring_sqe)];
	int r = 0;

	/* A mapping may be longer than its ring. */
	end = min_u64(end, start + SQES_MAX * sizeof(*sqe));
	for (uint64_t at = start;
	     r == 0 && at < end &&
	     mem_read(v->process->mem, at, sqe, sizeof(sqe)) == 0;
	     at += PAGE)
		for (size_t i = 0; r == 0 && i < ARRAY_SIZE(sqe); i++)
			r = entry(v, &sqe[i]);
	return r;
}

static int lent(const struct uring_visitor *v, uint64_t start, uint64_t end)
{
	struct io_uring_buf buffer[PAGE / sizeof(struct io_uring_buf)];
	int r = 0;

	for (; r == 0 && start < end; start += sizeof(buffer)) {
		size_t size = min_u64(end - start, sizeof(buffer));

		if (mem_read(v->process->mem, start, buffer, size) < 0)
			break;
		for (size_t i = 0; r == 0 && i < size / sizeof(*buffer); i++)
			r = lasting(v, buffer[i].addr, buffer[i].len);
	}
	return r;
}

enum uring_part uring_part(const struct mapping *mapping)
{
	enum { LENT = 0x80000000, KINDS = 0xf8000000 }; /* IORING_OFF_* */

	if (strcmp(mapping->path, "anon_inode:[io_uring]") != 0)
		return URING_OTHER;
	if (mapping->offset == IORING_OFF_SQES)
		return URING_ENTRIES;
	return (mapping->offset & KINDS) == LENT ? URING_LENT : URING_OTHER;
}

int uring_buffers(const struct uring_visitor *v, enum uring_part part,
		  uint64_t start, uint64_t end)
{
	switch (part) {
	case URING_ENTRIES:
		return entries(v, start, end);
	case URING_LENT:
		return lent(v, start, end);
	case URING_OTHER:
	default:
		return 0;
	}
}
