/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/live_run.h"

enum {
	ROOM = 2 * LIVE_ARENA,
	ROOM_FILL = 0xc3,
};

/* The guarded memory of a run. */
struct fence {
	uint64_t start, end;
};

static bool in_fence(void *context, uint64_t addr, uint64_t size)
{
	const struct fence *fence = context;

	return addr < fence->end && fence->start < addr + size;
}

static int own_read(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct iovec to = { buffer, size };
	struct iovec from = { (void *)(uintptr_t)addr, size };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)size)
		return -EFAULT;

	return 0;
}

static int own_write(void *context, uint64_t addr, const void *buffer,
		     size_t size)
{
	struct iovec from = { (void *)(uintptr_t)buffer, size };
	struct iovec to = { (void *)(uintptr_t)addr, size };

	if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != (ssize_t)size)
		return -EFAULT;

	return 0;
}

static const struct memory own = { NULL, own_read, own_write };

static int64_t make_call(int number, const uint64_t args[6])
{
	long r = syscall(number, args[0], args[1], args[2], args[3], args[4],
			 args[5]);

	return r == -1 ? -errno : r;
}

/* Did anything change in the room outside of the spans? */
static bool has_strayed(const struct bounce *bounce, const uint8_t *room)
{
	uint64_t i;
	unsigned k;

	for (i = 0; i < ROOM; i++) {
		uint64_t addr = P(room + i);

		if (room[i] == ROOM_FILL)
			continue;
		for (k = 0; k < bounce->spans; k++) {
			if (addr - bounce->span[k].room < bounce->span[k].size)
				break;
		}
		if (k == bounce->spans)
			return true;
	}

	return false;
}

static void call_bounced(struct scene *scene, struct fence *fence,
			 struct outcome *ret)
{
	uint8_t *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = page_down(fence->start);
	uint64_t size = page_up(fence->end) - start;
	struct bounce bounce;

	memset(room, ROOM_FILL, ROOM);
	ret->error = -E2BIG;
	if (bounce_room(&ret->plan, in_fence, fence) > ROOM)
		return;
	ret->error = bounce_begin(&bounce, &scene->call, &ret->plan, P(room),
				  in_fence, fence, &own);
	if (ret->error < 0)
		return;

	if (size == LIVE_ARENA)
		mprotect((void *)(uintptr_t)start, size, PROT_NONE);
	ret->result = make_call(scene->call.number, bounce.args);
	mprotect((void *)(uintptr_t)start, size, PROT_READ | PROT_WRITE);

	ret->strayed = has_strayed(&bounce, room);
	ret->error = bounce_end(&bounce, ret->result, &own, in_fence, fence,
				ret->uses, &ret->count);
	bounce_done(&bounce);
}

/* In a child: @guard is ALL or a buffer's number; @bounced false: plain. */
static void run_child(const struct world *world, const struct live_case *row,
		      uint8_t fill, bool bounced, int guard,
		      struct outcome *ret)
{
	struct scene scene = { .arena = world->arena };
	struct fence fence = { P(world->arena), P(world->arena) + LIVE_ARENA };

	memset(ret, 0, sizeof(*ret));
	memset(world->arena, fill, LIVE_ARENA);
	row->prepare(&scene);
	memcpy(ret->before, world->arena, LIVE_ARENA);
	call_describe(&scene.call, &own, &ret->plan);

	if (guard != ALL) {
		fence.start = ret->plan.buffer[guard].addr;
		fence.end = fence.start + ret->plan.buffer[guard].size;
	}
	if (bounced)
		call_bounced(&scene, &fence, ret);
	else
		ret->result = make_call(scene.call.number, scene.call.args);

	memcpy(ret->after, world->arena, LIVE_ARENA);
	if (scene.clean)
		scene.clean(scene.id);
}

int live_run(const struct world *world, const struct live_case *row,
	     uint8_t fill, bool bounced, int guard, struct outcome *ret)
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(20);
		run_child(world, row, fill, bounced, guard, ret);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;

	return status;
}
