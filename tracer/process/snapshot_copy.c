/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

#include "tracer/process/mem.h"
#include "tracer/process/snapshot_private.h"

enum {
	BATCH = 256,	   /* stretches copied by one call */
	SHARE = 8 << 20,   /* bytes that one thread of ours takes at once */
	HELPERS = 3,	   /* beside the one that is there */
	WORTH = 32 << 20,  /* bytes for one more */
};

struct copying {
	const struct snapshot *snapshot;
	pid_t pid;
	_Atomic uint64_t next; /* byte of the copy that nobody has taken */
	_Atomic int result;
};

/* What may not be read is forced. */
static int copy_pages(const struct snapshot *snapshot, uint64_t addr,
		      uint8_t *to, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += PAGE) {
		int r = mem_read(snapshot->process->mem, addr + at, to + at,
				 PAGE);

		if (r == -EFAULT)
			memset(to + at, 0, PAGE);
		else if (r < 0)
			return r;
	}
	return 0;
}

static int copy_batch(const struct copying *copying, uint64_t from,
		      struct iovec *remote, size_t count, uint64_t size)
{
	uint8_t *to = copying->snapshot->bytes + from;
	struct iovec local = { to, size };
	int r = 0;

	if (process_vm_readv(copying->pid, &local, 1, remote, count, 0) ==
	    (ssize_t)size)
		return 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = copy_pages(copying->snapshot,
			       (uint64_t)(uintptr_t)remote[i].iov_base, to,
			       remote[i].iov_len);
		to += remote[i].iov_len;
	}
	return r;
}

/* The stretch that has the byte @at of the copy. */
static const struct stretch *stretch_of(const struct snapshot *snapshot,
					uint64_t at)
{
	size_t low = 0, high = snapshot->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (snapshot->stretch[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return &snapshot->stretch[low];
}

static int copy_share(const struct copying *copying, uint64_t from, uint64_t to)
{
	const struct stretch *s = stretch_of(copying->snapshot, from);
	struct iovec remote[BATCH];
	int r = 0;

	while (r == 0 && from < to) {
		uint64_t size = 0;
		size_t count;

		for (count = 0; count < BATCH && from + size < to; count++) {
			uint64_t skip = from + size - s->at;
			uint64_t part = min_u64(s->end - s->start - skip,
						to - from - size);

			remote[count] = (struct iovec){
				(void *)(uintptr_t)(s->start + skip), part
			};
			size += part;
			s += skip + part == s->end - s->start;
		}
		r = copy_batch(copying, from, remote, count, size);
		from += size;
	}
	return r;
}

static void *work(void *context)
{
	struct copying *copying = context;
	uint64_t size = copying->snapshot->size, at;

	while ((at = atomic_fetch_add(&copying->next, SHARE)) < size) {
		int r = copy_share(copying, at, min_u64(at + SHARE, size));

		if (r < 0)
			atomic_store(&copying->result, r);
	}
	return NULL;
}

/* Signals are the first thread's. */
static unsigned start_helpers(struct copying *copying, pthread_t *helper)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t want = min_u64(copying->snapshot->size / WORTH, HELPERS);
	sigset_t all, before;
	unsigned count = 0;

	if (processors < 2)
		return 0;
	want = min_u64(want, (uint64_t)processors - 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (count < want &&
	       pthread_create(&helper[count], NULL, work, copying) == 0)
		count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return count;
}

int snapshot_copy(struct snapshot *snapshot)
{
	struct copying copying = { .snapshot = snapshot,
				   .pid = process_proc(snapshot->process) };
	pthread_t helper[HELPERS];
	unsigned count = start_helpers(&copying, helper);

	work(&copying);
	for (unsigned i = 0; i < count; i++)
		pthread_join(helper[i], NULL);
	return copying.result;
}
