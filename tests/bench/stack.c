/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one call stack of a stopped process costs, by several unwinders, on
 * the same stops: medians in nanoseconds.  Prints a line for each depth (or
 * that of its argument) and number of frames that changed:
 *
 *     depth changed floor warm rules libunwind libdwfl ptrace reads
 *     warm/floor libdwfl/rules ptrace/rules
 *
 * floor is PTRACE_GETREGS and the very reads that warm made; warm and rules
 * are unwinder_walk_warm() with and without slots, each with its GETREGS;
 * libunwind is unwinder_walk(); libdwfl keeps its Dwfl, ptrace is
 * libunwind-ptrace with its global cache.  reads is those of warm a stack.
 * Ratios are medians of those of each stop: the processor's speed changes.
 */
#include <alloca.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <libunwind-ptrace.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "unwinder/unwinder.h"

enum { MODULES_MAX = 64, READS_MAX = 16, ROUNDS = 301, WAYS = 6 };
enum { SELDOM = 10 }; /* one stop of so many for what takes long */

#ifdef __clang__ /* which makes no clones */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* The child: the outer frames stay, the inner are entered by other ways. */
static volatile int changed;
static volatile long sink;
static void (*const ways[])(int);

NOINLINE static void leaf(void)
{
	__asm__ volatile("int3" ::: "memory");
	sink++;
}

/* Of each level one frame. */
static inline __attribute__((always_inline)) void descend(int left)
{
	static unsigned turn;

	if (left == 0)
		leaf();
	else if (left == changed)
		for (;; turn++)
			ways[turn % 4](left - 1);
	else
		ways[(turn + (unsigned)left) % 4](left - 1);
}

#define WAY(n, size)                                                           \
	NOINLINE static void way##n(int left)                                  \
	{                                                                      \
		volatile char frame[size];                                     \
                                                                               \
		frame[0] = 1;                                                  \
		descend(left);                                                 \
		sink += frame[0];                                              \
	}
WAY(0, 24)
WAY(1, 56)
WAY(2, 120)

/* And one that is found by rbp. */
NOINLINE static void way3(int left)
{
	volatile char *frame = alloca(40 + (size_t)(left & 15));

	frame[0] = 1;
	descend(left);
	sink += frame[0];
}

static void (*const ways[])(int) = { way0, way1, way2, way3 };

static pid_t child;

/* Reads are remembered, for the floor. */
static struct {
	uint64_t addr;
	size_t size;
} made[READS_MAX];
static size_t reads;

static int read_child(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct iovec local = { buffer, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };

	if (reads < READS_MAX) {
		made[reads].addr = addr;
		made[reads].size = size;
	}
	reads++;
	return process_vm_readv(child, &local, 1, &remote, 1, 0) ==
			       (ssize_t)size
		       ? 0
		       : -EFAULT;
}

static const struct memory memory = { .read = read_child };
static struct unwinder *unwinder;
static struct slots *slots;
static Dwfl *dwfl;
static unw_addr_space_t space;
static void *ptrace_context;
static struct frame frames[UNWINDER_DEPTH_MAX];
static char bytes[1 << 22];

static void stop(const char *what)
{
	fprintf(stderr, "stack: %s: %s\n", what, strerror(errno));
	exit(1);
}

static size_t by_floor(void)
{
	struct user_regs_struct regs;

	ptrace(PTRACE_GETREGS, child, 0, &regs);
	for (size_t i = 0; i < reads && i < READS_MAX; i++) {
		struct iovec local = { bytes, made[i].size };
		struct iovec remote = { (void *)(uintptr_t)made[i].addr,
					made[i].size };

		if (process_vm_readv(child, &local, 1, &remote, 1, 0) < 0)
			stop("floor");
	}
	return 0;
}

static size_t by_walk(struct slots *known, bool cold)
{
	struct user_regs_struct regs;
	size_t count, fresh;
	int r;

	ptrace(PTRACE_GETREGS, child, 0, &regs);
	r = cold ? unwinder_walk(unwinder, &regs, &memory, frames,
				 UNWINDER_DEPTH_MAX, &count)
		 : unwinder_walk_warm(unwinder, known, &regs, &memory, frames,
				      UNWINDER_DEPTH_MAX, &count, &fresh);
	if (r != UNWINDER_END_BOTTOM)
		stop("walk");
	return count;
}

static size_t by_slots(void)
{
	return by_walk(slots, false);
}

static size_t by_rules(void)
{
	return by_walk(NULL, false);
}

static size_t by_libunwind(void)
{
	return by_walk(NULL, true);
}

static int count_frame(Dwfl_Frame *frame, void *context)
{
	Dwarf_Addr ip;
	bool activation;

	if (!dwfl_frame_pc(frame, &ip, &activation))
		return DWARF_CB_ABORT;
	++*(size_t *)context;
	return DWARF_CB_OK;
}

static size_t by_libdwfl(void)
{
	size_t count = 0;

	if (dwfl_getthread_frames(dwfl, child, count_frame, &count))
		stop("libdwfl");
	return count;
}

static size_t by_ptrace(void)
{
	unw_cursor_t cursor;
	unw_word_t ip;
	size_t count = 0;

	if (unw_init_remote(&cursor, space, ptrace_context) < 0)
		stop("libunwind-ptrace");
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		count++;
	} while (unw_step(&cursor) > 0);
	return count;
}

/* In the order of a line; the floor needs to know what slots read. */
static const struct way {
	size_t (*walk)(void);
	int every; /* stops */
} ways_to_walk[WAYS] = {
	{ by_floor, 1 },	  { by_slots, 1 },	  { by_rules, 1 },
	{ by_libunwind, SELDOM }, { by_libdwfl, SELDOM }, { by_ptrace, SELDOM },
};

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct unwinder_module *list = context;
	struct unwinder_module *module = list;

	while (module->end)
		module++;
	if (module - list == MODULES_MAX - 1)
		return 1;
	module->start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;
		uint64_t end = start + phdr->p_memsz;

		if (phdr->p_type == PT_GNU_EH_FRAME) {
			module->eh_frame_hdr = start;
			module->eh_frame_hdr_size = phdr->p_memsz;
		}
		if (phdr->p_type != PT_LOAD)
			continue;
		module->start = min_u64(module->start, start);
		module->end = max_u64(module->end, end);
		if (phdr->p_flags & PF_X) {
			module->text_start = start;
			module->text_end = end;
		}
	}
	return 0;
}

/* The child has our map. */
static void open_unwinders(void)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	struct unwinder_module list[MODULES_MAX] = { 0 };
	size_t count = 0;

	dl_iterate_phdr(add_module, list);
	while (list[count].end)
		count++;
	if (unwinder_new(&unwinder) < 0 || slots_new(&slots) < 0 ||
	    unwinder_modules(unwinder, list, count) < 0)
		stop("unwinder");
	dwfl = dwfl_begin(&callbacks);
	if (!dwfl || dwfl_linux_proc_report(dwfl, child) ||
	    dwfl_report_end(dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(dwfl, child, true) < 0)
		stop("libdwfl");
	space = unw_create_addr_space(&_UPT_accessors, 0);
	unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
	ptrace_context = _UPT_create(child);
}

static void close_unwinders(void)
{
	_UPT_destroy(ptrace_context);
	unw_destroy_addr_space(space);
	dwfl_end(dwfl);
	slots_free(slots);
	unwinder_free(unwinder);
}

static void next_stop(void)
{
	int status;

	if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
		stop("child");
}

static void begin(int depth, int changes)
{
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		changed = changes;
		descend(depth);
		_exit(0);
	}
	next_stop();
	open_unwinders();
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), by_value);
	return values[count / 2];
}

/* Both at the stops at which @way was walked. */
static double ratio(double ns[WAYS][ROUNDS], int way, int by)
{
	double ratios[ROUNDS];
	int every = ways_to_walk[way].every, count = 0;

	for (int round = 0; round < ROUNDS; round += every)
		ratios[count++] = ns[way][round] / ns[by][round];
	return median(ratios, count);
}

static void print(double ns[WAYS][ROUNDS], double all_reads)
{
	double ratios[] = { ratio(ns, 1, 0), ratio(ns, 4, 2), ratio(ns, 5, 2) };

	for (int i = 0; i < WAYS; i++) {
		int count = 0;

		for (int j = 0; j < ROUNDS; j += ways_to_walk[i].every)
			ns[i][count++] = ns[i][j];
		printf(" %.0f", median(ns[i], count));
	}
	printf(" %.2f %.3f %.1f %.1f\n", all_reads / ROUNDS, ratios[0],
	       ratios[1], ratios[2]);
	fflush(stdout);
}

static void measure(int depth, int changes)
{
	static double ns[WAYS][ROUNDS];
	uint64_t all_reads = 0;
	size_t count = 0, other;

	begin(depth, changes);
	by_slots();
	for (int round = 0; round < ROUNDS; round++) {
		ptrace(PTRACE_CONT, child, 0, 0);
		next_stop();
		by_floor(); /* what comes first finds cold caches */
		/* then slots: what they read is the floor's */
		for (int j = 0; j < WAYS; j++) {
			int i = j < 2 ? 1 - j : j;
			const struct way *way = &ways_to_walk[i];
			uint64_t start;

			if (round % way->every)
				continue;
			if (i)
				reads = 0;
			start = now();
			other = way->walk();
			ns[i][round] = (double)(now() - start);
			if (i == 1)
				all_reads += reads;
			if (i == 1)
				count = other;
			if (i && other != count && i != 5)
				stop("frames differ");
		}
	}
	printf("%d %d", depth, changes);
	print(ns, (double)all_reads);
	close_unwinders();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	static const int depths[] = { 10, 50, 100, 500, 1000 };
	static const int changes[] = { 1, 5, 20 };

	for (size_t i = 0; i < ARRAY_SIZE(depths); i++)
		for (size_t j = 0; j < ARRAY_SIZE(changes); j++)
			if (changes[j] < depths[i] &&
			    (argc < 2 || atoi(argv[1]) == depths[i]))
				measure(depths[i], changes[j]);
	return 0;
}
