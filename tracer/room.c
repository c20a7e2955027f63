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

static int call(struct thread *thread, long number, const uint64_t args[6],
		int64_t *result)
{
	struct injection injection;
	int r = inject_begin(&injection, thread);

	if (r == 0)
		r = inject_call(&injection, number, args, result);
	r = first_error(r, inject_end(&injection));
	if (r == 0 && *result < 0 && *result >= -4095)
		r = (int)*result;
	return r;
}

int room_take(struct rooms *rooms, struct thread *thread, uint64_t size,
	      struct room *ret)
{
	const uint64_t args[6] = {
		0,
		page_up(size),
		PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS,
		(uint64_t)-1,
	};
	int64_t result = 0;
	int r;

	*ret = (struct room){ 0 };
	if (size > ROOM_LARGEST)
		return -ENOSPC;
	if (take_slots(rooms, &thread->process->scratch,
		       (size + SLOT - 1) / SLOT, ret))
		return 0;
	r = call(thread, SYS_mmap, args, &result);
	if (r == 0)
		*ret = (struct room){ (uint64_t)result, args[1], true };
	return r;
}

int room_give(struct rooms *rooms, struct thread *thread, struct room *room)
{
	const uint64_t args[6] = { room->addr, room->size };
	const struct scratch *scratch;
	int64_t result;
	int r = 0;

	if (room->size && room->mapped && thread)
		r = call(thread, SYS_munmap, args, &result);
	else if (room->size && !room->mapped && thread) {
		scratch = &thread->process->scratch;
		rooms->used &= ~bits(
			(room->addr - scratch->start - SCRATCH_ROOM) / SLOT,
			room->size / SLOT);
	}
	*room = (struct room){ 0 };
	return r;
}
