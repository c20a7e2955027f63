/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <sys/uio.h>

#include "tracer/guard/plan.h"

/* Add what @count vectors say, which lie at @addr in buffer @parent. */
static void add_elements(struct planner *planner, int parent, uint64_t addr,
			 uint64_t count, const struct buffer_use *like)
{
	uint64_t i;

	for (i = 0; i < count && !planner->plan->overflow; i++) {
		uint64_t offset = i * sizeof(struct iovec);
		struct buffer_use use = *like;
		uint64_t vector[2];

		if (!plan_read(planner, addr + offset, vector, sizeof(vector)))
			return;
		use.parent = (int8_t)parent;
		use.place = (uint32_t)offset;
		use.addr = vector[0];
		use.size = min_u64(vector[1], PLAN_TRANSFER);
		plan_add(planner, &use);
	}
}

void plan_vector(struct planner *planner, const struct buffer_use *array,
		 uint64_t count, const struct buffer_use *like)
{
	struct buffer_use use = *array;
	int parent;

	/* EINVAL, before the kernel looks at any. */
	if (count > PLAN_VECTORS)
		return;

	use.size = count * sizeof(struct iovec);
	parent = plan_add(planner, &use);
	if (parent >= 0)
		add_elements(planner, parent, use.addr, count, like);
}

/*
 * What the struct msghdr at @offset of buffer @header points to; @like says
 * how much of the data is used.
 */
static void add_message(struct planner *planner, int header, uint64_t offset,
			const struct buffer_use *like)
{
	uint64_t addr = planner->plan->buffer[header].addr + offset;
	uint8_t direction = like->direction;
	struct buffer_use use;
	struct msghdr message;

	if (!plan_read(planner, addr, &message, sizeof(message)))
		return;

	use = plan_nested(header, offset, (uintptr_t)message.msg_name,
			  min_u64(plan_int(message.msg_namelen), PLAN_NAME),
			  direction);
	use.least = like->least;
	if (direction & BUFFER_OUT) {
		use.written = WRITTEN_LENGTH;
		use.counter = (int8_t)header;
		use.counter_place = (uint32_t)(offset + offsetof(struct msghdr,
								 msg_namelen));
	}
	plan_add(planner, &use);

	/* The kernel leaves the padding of control messages as it was. */
	use = plan_nested(header, offset + offsetof(struct msghdr, msg_control),
			  (uintptr_t)message.msg_control,
			  message.msg_controllen, direction);
	use.least = like->least;
	plan_add(planner, &use);

	use = plan_nested(header, offset + offsetof(struct msghdr, msg_iov),
			  (uintptr_t)message.msg_iov, 0, BUFFER_IN);
	plan_vector(planner, &use, message.msg_iovlen, like);
}

void plan_message(struct planner *planner, unsigned arg, uint8_t direction)
{
	struct buffer_use like = plan_argument(planner, arg, 0, direction);
	/* Sending, it is read; receiving, its lengths are written, too. */
	int header = plan_add_argument(planner, arg, sizeof(struct msghdr),
				       BUFFER_IN | direction);

	like.written = WRITTEN_RESULT;
	if (header >= 0)
		add_message(planner, header, 0, &like);
}

void plan_messages(struct planner *planner, unsigned arg, uint64_t count,
		   uint8_t direction)
{
	uint64_t i, vectors = min_u64(count, PLAN_VECTORS);
	int header = plan_add_argument(planner, arg,
				       vectors * sizeof(struct mmsghdr),
				       BUFFER_IN | BUFFER_OUT);

	if (header < 0)
		return;

	for (i = 0; i < vectors && !planner->plan->overflow; i++) {
		struct buffer_use like =
			plan_argument(planner, arg, 0, direction);

		like.written = WRITTEN_LENGTH;
		like.counter = (int8_t)header;
		like.counter_place =
			(uint32_t)(i * sizeof(struct mmsghdr) +
				   offsetof(struct mmsghdr, msg_len));
		like.least = (uint8_t)min_u64(i + 1, UINT8_MAX);
		add_message(planner, header, i * sizeof(struct mmsghdr), &like);
	}
}
