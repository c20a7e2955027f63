/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/process/frames.h"
#include "tracer/process/landing.h"
#include "tracer/process/living.h"
#include "tracer/process/mem.h"
#include "tracer/process/perf.h"
#include "tracer/process/process.h"

/* Of one whose threads are not known. */
static void find_proc(struct process *process)
{
	pid_t tid = living_thread(process->pid);

	process->proc = tid ? tid : process->pid;
	process->stack = process_stack(process->proc);
}

int process_new(pid_t pid, struct process **ret)
{
	_cleanup_(process_freep) struct process *process =
		calloc(1, sizeof(*process));
	int r;

	if (!process)
		return -ENOMEM;
	process->pid = pid;
	process->mem = process->pagemap = -1;
	process->maps_stale = true;
	find_proc(process);

	r = mem_open(process->proc, &process->mem);
	if (r < 0)
		return r;
	r = symbols_new(process->proc, &process->symbols);
	if (r < 0)
		return r;
	*ret = take(process);
	return 0;
}

void thread_free(struct thread *thread)
{
	landing_free(thread);
	free(thread->kept);
	perf_free(thread->perf);
	frames_forget(thread);
	free(thread);
}

void process_free(struct process *process)
{
	if (!process)
		return;
	table_for_each(&process->threads, s) thread_free(s->value);
	table_done(&process->threads);
	maps_free(process->maps);
	symbols_free(process->symbols);
	survival_done(&process->survival);
	closep(&process->mem);
	closep(&process->pagemap);
	free(process);
}

uint64_t process_stack(pid_t pid)
{
	enum { STATE = 3, START_STACK = 28 }; /* fields of proc_pid_stat(5) */
	char path[48], line[1024], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return 0;
	at = strrchr(line, ')');
	for (int i = STATE - 1; at && i < START_STACK; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

int process_exec(struct process *process)
{
	int r;

	find_proc(process);
	closep(&process->pagemap);
	process->pagemap = -1;
	closep(&process->mem);
	r = mem_open(process->proc, &process->mem);
	if (r < 0)
		return r;

	symbols_free(process->symbols);
	process->symbols = NULL;
	r = symbols_new(process->proc, &process->symbols);
	if (r < 0)
		return r;

	process->maps_stale = true;
	process->syscall_insn = 0;
	process->scratch = (struct scratch){ 0 };
	survival_done(&process->survival);
	process->dispositions.known = false;
	return process_remap(process);
}

static bool same(const struct maps *a, const struct maps *b)
{
	if (!a || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct mapping *x = &a->mapping[i], *y = &b->mapping[i];

		if (x->start != y->start || x->end != y->end ||
		    x->offset != y->offset || x->inode != y->inode ||
		    x->device != y->device || x->prot != y->prot ||
		    x->shared != y->shared || strcmp(x->path, y->path) != 0)
			return false;
	}
	return true;
}

/* A vfork child, which is another process, comes last. */
static pid_t choose_proc(const struct process *process)
{
	enum { NOBODY, CHILD, RUNS, STANDS } best = NOBODY;
	pid_t tid = process->proc;

	table_for_each(&process->threads, s)
	{
		const struct thread *thread = s->value;
		int rank = thread->tgid != process->pid ? CHILD
			   : thread_is_stopped(thread)	? STANDS
							: RUNS;

		if (rank <= (int)best ||
		    (rank < STANDS && !living(thread->tid)))
			continue;
		best = rank;
		tid = thread->tid;
	}
	return tid;
}

pid_t process_proc(struct process *process)
{
	const struct thread *thread = process_thread(process, process->proc);
	pid_t tid;

	if (thread && thread_is_stopped(thread))
		return process->proc;
	tid = choose_proc(process);
	if (tid != process->proc)
		symbols_follow(process->symbols, tid);
	process->proc = tid;
	return tid;
}

int process_pagemap(struct process *process)
{
	if (process->pagemap < 0)
		process->pagemap = mem_open_pagemap(process_proc(process));
	return process->pagemap;
}

/* A thread that was running may be gone when its map is read. */
static int read_maps(struct process *process, struct maps **ret)
{
	size_t tries = process->threads.count;
	int r = maps_read(process_proc(process), ret, NULL);

	while (tries-- && (r == -ESRCH || (r == 0 && !(*ret)->count))) {
		if (r == 0)
			maps_free(*ret);
		r = maps_read(process_proc(process), ret, NULL);
	}
	return r;
}

bool process_is_empty(const struct process *process)
{
	const struct thread *leader = process_thread(process, process->pid);

	return process->threads.count == (leader && leader->untold);
}

int process_remap(struct process *process)
{
	struct maps *maps;
	int r;

	if (!process->maps_stale)
		return 0;
	r = read_maps(process, &maps);
	if (r < 0)
		return r;
	process->maps_stale = false;
	if (same(process->maps, maps)) {
		maps_free(maps);
		return 0;
	}
	maps_free(process->maps);
	process->maps = maps;
	process->remaps++;
	return symbols_update(process->symbols, maps);
}

/* Filters that are not ours; where nobody counts them, any are. */
static bool has_filters(const struct process *process, pid_t tid)
{
	if (!process->filters)
		return process_status(tid, "Seccomp", 10, 0) != 0;
	return process_status(tid, "Seccomp_filters", 10, UINT64_MAX) >
	       process->filters;
}

void process_note_seccomp(struct process *process)
{
	/* A filter stays, and a thread may have one of its own. */
	if (!process->seccomp)
		process->seccomp = has_filters(process, process->proc);
	table_for_each(&process->threads, s)
	{
		const struct thread *thread = s->value;

		if (process->seccomp)
			return;
		process->seccomp = has_filters(process, thread->tid);
	}
}

int process_add(struct process *process, pid_t tid, struct thread **ret)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	int r;

	if (!thread)
		return -ENOMEM;
	thread->tid = tid;
	thread->tgid = process->pid;
	thread->process = process;
	thread->state = THREAD_NEW;
	thread->last_call = -1;
	thread->waits = true;

	r = table_put(&process->threads, (uint64_t)tid, thread);
	if (r < 0) {
		free(thread);
		return r;
	}
	*ret = thread;
	return 0;
}

void process_remove(struct process *process, struct thread *thread)
{
	bool read = thread->tid == process->proc;

	table_remove(&process->threads, (uint64_t)thread->tid);
	thread_free(thread);
	if (read)
		process_proc(process);
}

static int read_callback(void *context, uint64_t addr, void *buffer,
			 size_t size)
{
	struct process *process = context;

	return mem_read(process->mem, addr, buffer, size);
}

static int write_callback(void *context, uint64_t addr, const void *buffer,
			  size_t size)
{
	struct process *process = context;

	return mem_write(process->mem, addr, buffer, size);
}

struct memory process_memory(struct process *process)
{
	return (struct memory){
		.context = process,
		.read = read_callback,
		.write = write_callback,
	};
}

uint64_t process_status(pid_t tid, const char *key, int base, uint64_t fallback)
{
	char path[48], line[256];
	size_t length = strlen(key);

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	if (!file)
		return fallback;

	while (fgets(line, sizeof(line), file))
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			return strtoull(line + length + 1, NULL, base);
	return fallback;
}
