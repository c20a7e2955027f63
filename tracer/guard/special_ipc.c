/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/aio_abi.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tracer/guard/special.h"
#include "tracer/guard/syscalls_table.h"

/* IPC_64 in a command says nothing on x86-64. */
#define IPC_COMMAND(arg) ((uint32_t)(arg) & ~0x100u)

void special_shmctl(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 1, { IN(2, 112) } },	 /* IPC_SET */
		{ 2, { OUT(2, 112) } },	 /* IPC_STAT */
		{ 3, { OUT(2, 72) } },	 /* IPC_INFO */
		{ 13, { OUT(2, 112) } }, /* SHM_STAT */
		{ 14, { OUT(2, 48) } },	 /* SHM_INFO */
		{ 15, { OUT(2, 112) } }, /* SHM_STAT_ANY */
	};

	rule_command(planner, rows, ARRAY_SIZE(rows),
		     IPC_COMMAND(planner->call->args[1]));
}

void special_semctl(struct planner *planner)
{
	enum {
		GETALL = 13,
		SETALL = 17,
	};
	static const struct rule_command rows[] = {
		{ 1, { IN(3, 104) } },	 /* IPC_SET */
		{ 2, { OUT(3, 104) } },	 /* IPC_STAT */
		{ 3, { OUT(3, 40) } },	 /* IPC_INFO */
		{ 18, { OUT(3, 104) } }, /* SEM_STAT */
		{ 19, { OUT(3, 40) } },	 /* SEM_INFO */
		{ 20, { OUT(3, 104) } }, /* SEM_STAT_ANY */
	};
	uint32_t command = IPC_COMMAND(planner->call->args[2]);

	/* As many values as the set has semaphores: only the kernel knows. */
	if (command == GETALL || command == SETALL)
		plan_suspect(planner, planner->call->args[3]);
	rule_command(planner, rows, ARRAY_SIZE(rows), command);
}

void special_msgctl(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 1, { IN(2, 120) } },	 /* IPC_SET */
		{ 2, { OUT(2, 120) } },	 /* IPC_STAT */
		{ 3, { OUT(2, 32) } },	 /* IPC_INFO */
		{ 11, { OUT(2, 120) } }, /* MSG_STAT */
		{ 12, { OUT(2, 32) } },	 /* MSG_INFO */
		{ 13, { OUT(2, 120) } }, /* MSG_STAT_ANY */
	};

	rule_command(planner, rows, ARRAY_SIZE(rows),
		     IPC_COMMAND(planner->call->args[1]));
}

void special_mq_open(struct planner *planner)
{
	enum {
		CREATE = 0100, /* O_CREAT */
	};

	if (planner->call->args[1] & CREATE)
		plan_add_argument(planner, 3, SIZE_MQ_ATTR, BUFFER_IN);
}

void special_mq_notify(struct planner *planner)
{
	enum {
		NOTIFY_AT = 12,	 /* sigev_notify; sigev_value is first */
		BY_THREAD = 2,	 /* SIGEV_THREAD */
		COOKIE_SIZE = 32 /* NOTIFY_COOKIE_LEN */
	};
	uint64_t addr = planner->call->args[1], value;
	int parent = plan_add_argument(planner, 1, SIZE_SIGEVENT, BUFFER_IN);
	struct buffer_use cookie;
	uint32_t how;

	if (parent < 0 || !plan_read(planner, addr, &value, sizeof(value)) ||
	    !plan_read(planner, addr + NOTIFY_AT, &how, sizeof(how)))
		return;
	if (how != BY_THREAD)
		return;
	cookie = plan_nested(parent, 0, value, COOKIE_SIZE, BUFFER_IN);
	plan_add(planner, &cookie);
}

void special_setsockopt(struct planner *planner)
{
	enum {
		ATTACH_FILTER = 26,
		ATTACH_REUSEPORT_CBPF = 51,
	};
	const uint64_t *args = planner->call->args;
	uint64_t size = plan_int(args[4]);
	uint32_t option = (uint32_t)args[2];

	if ((uint32_t)args[1] == SOL_SOCKET &&
	    (option == ATTACH_FILTER || option == ATTACH_REUSEPORT_CBPF)) {
		struct buffer_use use =
			plan_argument(planner, 3, size, BUFFER_IN);

		plan_filter(planner, &use);
		return;
	}

	plan_add_argument(planner, 3, size, BUFFER_IN);
	if ((uint32_t)args[1] != SOL_SOCKET)
		plan_suspect_words(planner, args[3], size);
}

/* The length of a filter is the number of its instructions, both ways. */
void special_getsockopt(struct planner *planner)
{
	enum {
		SIZE_SOCK_FILTER = 8,
		GET_FILTER = 26,
		TCP = 6,
		ZEROCOPY_RECEIVE = 35, /* names a buffer to copy to */
		NETLINK = 270,
		MEMBERSHIPS = 9, /* whole words, as many as fit */
	};
	const uint64_t *args = planner->call->args;
	uint32_t level = (uint32_t)args[1], option = (uint32_t)args[2];
	struct call_plan *plan = planner->plan;
	struct buffer_use *use = &plan->buffer[plan->count - 1];

	if (!plan->count || use->written != WRITTEN_LENGTH)
		return;
	if (level == TCP && option == ZEROCOPY_RECEIVE) {
		plan_suspect_words(planner, args[3], use->size);
	} else if (level == SOL_SOCKET && option == GET_FILTER) {
		use->unit = SIZE_SOCK_FILTER;
		use->size = plan_product(use->size, use->unit);
	} else if (level == NETLINK && option == MEMBERSHIPS) {
		use->written = WRITTEN_COMPARE;
	}
}

/* The kernel sends from the pages themselves, when the call is over. */
static void check_zero_copy(struct planner *planner, unsigned arg)
{
	enum {
		ZERO_COPY = 0x4000000, /* MSG_ZEROCOPY */
	};

	if (!(planner->call->args[arg] & ZERO_COPY))
		return;
	planner->plan->kind = CALL_IN_PLACE;
	planner->plan->flags |= CALL_LATER;
}

void special_sendto(struct planner *planner)
{
	check_zero_copy(planner, 3);
}

void special_sendmsg(struct planner *planner)
{
	check_zero_copy(planner, 2);
}

void special_sendmmsg(struct planner *planner)
{
	check_zero_copy(planner, 3);
}

/*
 * With MSG_TRUNC a stream throws away as many bytes as the result says, and
 * does not touch the buffers: only datagrams do.
 */
static void check_discard(struct planner *planner, unsigned arg)
{
	struct call_plan *plan = planner->plan;

	if (!(planner->call->args[arg] & MSG_TRUNC))
		return;
	for (unsigned i = 0; i < plan->count; i++) {
		struct buffer_use *use = &plan->buffer[i];
		bool counted = use->written == WRITTEN_LENGTH &&
			       use->counter_place % sizeof(struct mmsghdr) ==
				       offsetof(struct mmsghdr, msg_len);

		if (use->written == WRITTEN_RESULT || counted)
			use->written = WRITTEN_COMPARE;
	}
}

void special_recvfrom(struct planner *planner)
{
	check_discard(planner, 3);
}

void special_recvmsg(struct planner *planner)
{
	check_discard(planner, 2);
}

void special_recvmmsg(struct planner *planner)
{
	check_discard(planner, 3);
}

/* To take a descriptor out no event is needed. */
void special_epoll_ctl(struct planner *planner)
{
	enum {
		DELETE = 2, /* EPOLL_CTL_DEL */
	};

	if ((uint32_t)planner->call->args[1] != DELETE)
		plan_add_argument(planner, 3, SIZE_EPOLL_EVENT, BUFFER_IN);
}

/* The data of one request, if it has some in memory. */
static void add_request_data(struct planner *planner, int parent,
			     const struct iocb *request)
{
	uint8_t direction = BUFFER_IN;
	struct buffer_use use, like;

	switch (request->aio_lio_opcode) {
	case IOCB_CMD_PREAD:
	case IOCB_CMD_PREADV:
		direction = BUFFER_OUT;
		break;
	case IOCB_CMD_PWRITE:
	case IOCB_CMD_PWRITEV:
		break;
	default:
		return;
	}

	use = plan_nested(parent, offsetof(struct iocb, aio_buf),
			  request->aio_buf, request->aio_nbytes, direction);
	if (request->aio_lio_opcode == IOCB_CMD_PREAD ||
	    request->aio_lio_opcode == IOCB_CMD_PWRITE) {
		plan_add(planner, &use);
		return;
	}

	like = use;
	use.direction = BUFFER_IN;
	plan_vector(planner, &use, request->aio_nbytes, &like);
}

void special_io_submit(struct planner *planner)
{
	uint64_t array = planner->call->args[2], i;
	uint64_t count = min_u64(planner->call->args[1], CALL_BUFFERS);
	int parent = plan_add_argument(planner, 2, 8 * count, BUFFER_IN);

	if (planner->call->args[1] > CALL_BUFFERS)
		planner->plan->overflow = true;

	for (i = 0; i < count && parent >= 0; i++) {
		struct buffer_use use;
		struct iocb request;
		uint64_t addr;
		int index;

		if (planner->plan->overflow ||
		    !plan_read(planner, array + 8 * i, &addr, 8) ||
		    !plan_read(planner, addr, &request, sizeof(request)))
			return;
		/* aio_key is written. */
		use = plan_nested(parent, 8 * i, addr, sizeof(request),
				  BUFFER_IN | BUFFER_OUT);
		index = plan_add(planner, &use);
		if (index >= 0)
			add_request_data(planner, index, &request);
	}
}

/* The sixth argument: a pointer to a signal set, and its size. */
void special_sigmask(struct planner *planner)
{
	int parent = plan_add_argument(planner, 5, 16, BUFFER_IN);
	struct buffer_use use;
	uint64_t addr;

	if (parent < 0 ||
	    !plan_read(planner, planner->call->args[5], &addr, sizeof(addr)))
		return;
	use = plan_nested(parent, 0, addr, SIZE_SIGSET, BUFFER_IN);
	plan_add(planner, &use);
}

/* Into a pipe the pages themselves go; out of it, bytes are copied. */
void special_vmsplice(struct planner *planner)
{
	struct buffer_use array = plan_argument(planner, 1, 0, BUFFER_IN);
	struct buffer_use like =
		plan_argument(planner, 1, 0, BUFFER_IN | BUFFER_OUT);

	plan_vector(planner, &array, planner->call->args[2], &like);
}
