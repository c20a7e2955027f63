/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * room - memory in the process for the buffers of moved system calls
 *
 * Small buffers get slots of the scratch memory, larger ones a mapping of
 * their own for the length of the call.
 */

#include "tracer/process/inject.h"

struct room {
	uint64_t addr, size; /* size 0: none */
	bool mapped;	     /* a mapping of its own */
};

struct rooms {
	uint64_t used; /* a bit for each slot of the scratch memory */
};

enum { ROOM_LARGEST = 64 << 20 };

/* @thread stands at the entry of a call. -ENOSPC: larger than ROOM_LARGEST. */
int room_take(struct rooms *rooms, struct thread *thread, uint64_t size,
	      struct room *ret) _must_check_;

/* The same without an injection. -ENOSPC: no slots are free. */
int room_take_slots(struct rooms *rooms, const struct scratch *scratch,
		    uint64_t size, struct room *ret) _must_check_;

/* @thread is stopped; NULL if it is gone: then a mapping stays behind. */
int room_give(struct rooms *rooms, struct thread *thread, struct room *room);
