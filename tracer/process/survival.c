/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tracer/process/inject.h"
#include "tracer/process/mem.h"
#include "tracer/process/survival_layout.h"

enum {
	NOEXEC_SEAL = 8,  /* MFD_NOEXEC_SEAL, since Linux 6.3 */
	OWNED_MAX = 2048, /* ROBUST_LIST_LIMIT of the kernel */
};

/*
 * The kernel sets FUTEX_OWNER_DIED in the word of each node when we end.  It
 * finds all words at one distance from their nodes, so a node lies on a page
 * of ours in front of the shared memory: what the process may write holds no
 * pointers of ours.
 */
static struct robust_list_head robust = {
	.list = { &robust.list },
	.futex_offset = PAGE + offsetof(struct survival_shared, owner),
};
static unsigned owned;

static struct robust_list *node_of(struct survival_shared *shared)
{
	return (struct robust_list *)((char *)shared - PAGE);
}

/* Killed at any moment we leave a list that is whole. */
static int own_word(struct survival_shared *shared)
{
	struct robust_list *node = node_of(shared);

	shared->owner = (uint32_t)gettid();
	node->next = robust.list.next;
	__atomic_store_n(&robust.list.next, node, __ATOMIC_RELEASE);
	owned++;
	return syscall(SYS_set_robust_list, &robust, sizeof(robust)) < 0
		       ? -errno
		       : 0;
}

static void disown_word(struct survival_shared *shared)
{
	struct robust_list *at = &robust.list;

	while (at->next != node_of(shared))
		at = at->next;
	__atomic_store_n(&at->next, at->next->next, __ATOMIC_RELEASE);
	owned--;
}

static int run(struct injection *injection, long number, const uint64_t args[6],
	       uint64_t *ret)
{
	int64_t result = 0;
	int r = inject_call(injection, number, args, &result);

	if (r == 0 && result < 0 && result >= -4095)
		r = (int)result;
	*ret = (uint64_t)result;
	return r;
}

/* Of the process, so that we need its files and it needs none of ours. */
static int make_memfd(struct injection *injection, uint64_t *fd)
{
	const struct process *process = injection->thread->process;
	uint64_t name = process->scratch.start + SCRATCH_DATA;
	uint64_t args[6] = { name, MFD_CLOEXEC | NOEXEC_SEAL };
	int r = mem_write(process->mem, name, "cls", 4);

	if (r == 0)
		r = run(injection, SYS_memfd_create, args, fd);
	if (r != -EINVAL)
		return r;
	args[1] = MFD_CLOEXEC;
	return run(injection, SYS_memfd_create, args, fd);
}

/* Our end of the memory, behind the page of its node. */
static int map_here(pid_t tid, uint64_t number, struct survival_shared **ret)
{
	const size_t size = sizeof(**ret);
	char path[48];
	char *p;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, (int)number);
	_cleanup_(closep) int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, size) < 0)
		return -errno;
	if (owned == OWNED_MAX)
		return -ENOSPC;
	p = mmap(NULL, PAGE + size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	if (mmap(p + PAGE, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 fd, 0) == MAP_FAILED) {
		int r = -errno;

		munmap(p, PAGE + size);
		return r;
	}
	*ret = (struct survival_shared *)(p + PAGE);
	return own_word(*ret);
}

static int map_there(struct injection *injection, uint64_t fd)
{
	struct survival *survival = &injection->thread->process->survival;
	const uint64_t args[6] = { 0,
				   sizeof(*survival->shared),
				   PROT_READ | PROT_WRITE,
				   MAP_SHARED,
				   fd,
				   0 };
	uint64_t address = 0;
	int r = run(injection, SYS_mmap, args, &address);

	if (r == 0)
		survival->address = address;
	return r;
}

static uint64_t place_of(uint64_t scratch, void (*function)(void))
{
	return scratch + SCRATCH_HANDLER +
	       ((uintptr_t)function - (uintptr_t)__start_cls_survival);
}

/* A thread that comes out of an injected call, and is not stopped there. */
static int write_way_back(struct process *process)
{
	uint64_t scratch = process->scratch.start;
	const uint64_t shared = process->survival.address;
	uint64_t from = scratch + SCRATCH_RETURN;
	int32_t distance =
		(int32_t)(place_of(scratch, survival_return) - (from + 5));
	uint8_t jump[5] = { 0xe9 };
	int r = mem_write(process->mem, scratch + SCRATCH_OWN, &shared,
			  sizeof(shared));

	memcpy(jump + 1, &distance, sizeof(distance));
	return r < 0 ? r : mem_write(process->mem, from, jump, sizeof(jump));
}

static int copy_code(struct process *process)
{
	const uint8_t *code = __start_cls_survival;
	size_t size = (size_t)(__stop_cls_survival - code);
	int r;

	if (size > SCRATCH_STUBS - SCRATCH_HANDLER)
		return -E2BIG;
	r = mem_write(process->mem, process->scratch.start + SCRATCH_HANDLER,
		      code, size);
	return r < 0 ? r : write_way_back(process);
}

/* Filters might kill the process for a call that it never makes itself. */
static bool is_judged(const struct thread *thread)
{
	const struct process *process = thread->process;

	return process->seccomp &&
	       trace_options(thread->tid,
			     process->options | TRACE_SUSPEND_SECCOMP) < 0;
}

int survival_map(struct injection *injection)
{
	struct process *process = injection->thread->process;
	struct survival *survival = &process->survival;
	uint64_t fd = 0, closed = 0;
	int r;

	if (survival->shared)
		return 0;
	if (is_judged(injection->thread))
		return -EPERM;
	r = make_memfd(injection, &fd);
	if (r < 0)
		return r;
	r = map_here(injection->thread->tid, fd, &survival->shared);
	if (r == 0)
		r = map_there(injection, fd);
	r = first_error(r, run(injection, SYS_close, (const uint64_t[6]){ fd },
			       &closed));
	if (r == 0)
		r = copy_code(process);
	process->maps_stale = true;
	if (r < 0)
		(void)!survival_unmap(injection);
	return r;
}

int survival_unmap(struct injection *injection)
{
	struct survival *survival = &injection->thread->process->survival;
	const uint64_t args[6] = { survival->address,
				   sizeof(*survival->shared) };
	uint64_t result = 0;
	int r = 0;

	if (survival->address)
		r = run(injection, SYS_munmap, args, &result);
	if (r == 0)
		survival_done(survival);
	return r;
}

void survival_done(struct survival *survival)
{
	if (survival->shared) {
		disown_word(survival->shared);
		munmap(node_of(survival->shared),
		       PAGE + sizeof(*survival->shared));
	}
	*survival = (struct survival){ 0 };
}

void survival_disposition(uint64_t scratch, const struct disposition *program,
			  struct disposition *ret)
{
	*ret = *program;
	if (program->handler <= (uint64_t)(uintptr_t)SIG_IGN ||
	    !(program->flags & SIGNAL_RESTORER))
		*ret = (struct disposition){
			.flags = SA_NODEFER | SA_RESTART,
			.restorer = place_of(scratch, survival_restorer),
		};
	ret->handler = place_of(scratch, survival_entry);
	ret->flags |= SA_SIGINFO | SIGNAL_RESTORER;
	ret->flags &= ~(uint64_t)SA_RESETHAND;
}

int survival_install(struct injection *injection,
		     const struct disposition *program)
{
	struct process *process = injection->thread->process;
	struct survival *survival = &process->survival;
	uint64_t scratch = process->scratch.start;
	const struct survival_own own = {
		.shared = (struct survival_shared *)survival->address,
		.program = *program,
	};
	struct disposition ours;
	int r = mem_write(process->mem, scratch + SCRATCH_OWN, &own,
			  sizeof(own));

	survival_disposition(scratch, program, &ours);
	if (r == 0)
		r = inject_disposition(injection, SIGSEGV, &ours);
	if (r == 0)
		survival->installed = true;
	return r;
}

int survival_remove(struct injection *injection,
		    const struct disposition *program)
{
	int r = inject_disposition(injection, SIGSEGV, program);

	if (r == 0)
		injection->thread->process->survival.installed = false;
	return r;
}

int survival_clean(struct injection *injection)
{
	const struct process *process = injection->thread->process;
	uint64_t scratch = process->scratch.start;
	struct disposition now;
	struct survival_own own;
	int r = inject_ask_disposition(injection, SIGSEGV, &now);

	if (r < 0 || now.handler != place_of(scratch, survival_entry))
		return r;
	r = mem_read(process->mem, scratch + SCRATCH_OWN, &own, sizeof(own));
	return r < 0 ? r : inject_disposition(injection, SIGSEGV, &own.program);
}

struct survival_table *survival_table(struct survival *survival)
{
	struct survival_shared *shared = survival->shared;

	return shared ? &shared->table[!(shared->current & 1)] : NULL;
}

void survival_publish(struct survival *survival)
{
	struct survival_shared *shared = survival->shared;

	if (shared)
		__atomic_store_n(&shared->current, !(shared->current & 1),
				 __ATOMIC_RELEASE);
}

void survival_begin(struct survival *survival, uint64_t ip, uint64_t sp,
		    pid_t tid)
{
	struct survival_shared *shared = survival->shared;

	if (!shared)
		return;
	shared->journal.ip = ip;
	shared->journal.sp = sp;
	shared->journal.tid = (uint64_t)tid;
	shared->journal.size = 0;
}

void survival_read(struct survival *survival, uint64_t addr, const void *bytes,
		   size_t size)
{
	struct survival_shared *shared = survival->shared;

	if (!shared || size > sizeof(shared->journal.old) ||
	    shared->journal.valid)
		return;
	shared->journal.addr = addr;
	shared->journal.size = (uint32_t)size;
	memcpy(shared->journal.old, bytes, size);
}

void survival_write(struct survival *survival, uint64_t addr, size_t size)
{
	struct survival_shared *shared = survival->shared;

	if (shared && shared->journal.addr == addr &&
	    shared->journal.size == size)
		__atomic_store_n(&shared->journal.valid, 1, __ATOMIC_RELEASE);
}

void survival_end(struct survival *survival)
{
	if (survival->shared)
		__atomic_store_n(&survival->shared->journal.valid, 0,
				 __ATOMIC_RELEASE);
}

static struct survival_blocked *find_blocked(struct survival *survival,
					     uint64_t tid)
{
	struct survival_shared *shared = survival->shared;

	for (size_t i = 0; shared && i < SURVIVAL_BLOCKED; i++)
		if (shared->blocked[i].tid == tid)
			return &shared->blocked[i];
	return NULL;
}

int survival_block(struct survival *survival, pid_t tid, uint64_t mask,
		   const struct survival_frame *frame)
{
	struct survival_blocked *b = find_blocked(survival, 0);

	if (!b || tid <= 0)
		return -ENOSPC;
	b->mask = mask;
	b->frame = frame ? *frame : (struct survival_frame){ 0 };
	__atomic_store_n(&b->tid, (uint64_t)tid, __ATOMIC_RELEASE);
	return 0;
}

void survival_unblock(struct survival *survival, pid_t tid)
{
	struct survival_blocked *b = find_blocked(survival, (uint64_t)tid);

	if (b)
		__atomic_store_n(&b->tid, 0, __ATOMIC_RELEASE);
}

void survival_way_back(struct survival *survival,
		       const struct user_regs_struct *regs, uint64_t mask)
{
	struct survival_shared *shared = survival->shared;

	if (!shared)
		return;
	shared->way_back.regs = *regs;
	__atomic_store_n(&shared->way_back.mask, mask, __ATOMIC_RELEASE);
}

void survival_reenters(struct survival *survival, pid_t tid)
{
	struct survival_shared *shared = survival->shared;

	if (shared)
		__atomic_store_n(&shared->way_back.tid, (uint64_t)tid,
				 __ATOMIC_RELEASE);
}
