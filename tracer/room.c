/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tracer/room.h"

enum { SLOT = 4096, SLOTS = (SCRATCH_SIZE - SCRATCH_ROOM) / SLOT };

static uint64_t bits(uint64_t first, uint64_t count)
{
	uint64_t mask = count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;

	return mask << first;
}

static bool take_slots(struct rooms *rooms, const struct scratch *scratch,
		       uint64_t count, struct room *ret)
{
	for (uint64_t i = 0; i + count <= SLOTS; i++) {
		if (rooms->used & bits(i, count))
			continue;
		rooms->used |= bits(i, count);
		ret->addr = scratch->start + SCRATCH_ROOM + i * SLOT;
		ret->size = count * SLOT;
		return true;
	}
	return false;
}

static int unmap(struct thread *thread, const struct room *room)
{
	const uint64_t args[6] = { room->addr, room->size };
	struct injection injection;
	int64_t result = 0;
	int r = inject_begin(&injection, thread);

	if (r == 0)
		r = inject_call(&injection, SYS_munmap, args, &result);
	r = first_error(r, inject_end(&injection));
	return r < 0 ? r : (int)result;
}

int room_take(struct rooms *rooms, struct thread *thread, uint64_t size,
	      struct room *ret)
{
	struct injection injection;
	uint64_t start = 0;
	int r;

	*ret = (struct room){ 0 };
	if (size > ROOM_LARGEST)
		return -ENOSPC;
	if (take_slots(rooms, &thread->process->scratch,
		       (size + SLOT - 1) / SLOT, ret))
		return 0;
	r = inject_begin(&injection, thread);
	if (r == 0)
		r = inject_map(&injection, page_up(size), &start);
	r = first_error(r, inject_end(&injection));
	if (r == 0)
		*ret = (struct room){ start, page_up(size), true };
	return r;
}

int room_take_slots(struct rooms *rooms, const struct scratch *scratch,
		    uint64_t size, struct room *ret)
{
	uint64_t count = (size + SLOT - 1) / SLOT;

	*ret = (struct room){ 0 };
	return scratch->start && take_slots(rooms, scratch, count, ret)
		       ? 0
		       : -ENOSPC;
}

int room_give(struct rooms *rooms, struct thread *thread, struct room *room)
{
	const struct scratch *scratch;
	int r = 0;

	if (room->size && room->mapped && thread)
		r = unmap(thread, room);
	else if (room->size && !room->mapped && thread) {
		scratch = &thread->process->scratch;
		rooms->used &= ~bits(
			(room->addr - scratch->start - SCRATCH_ROOM) / SLOT,
			room->size / SLOT);
	}
	*room = (struct room){ 0 };
	return r;
}
