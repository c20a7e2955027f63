/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops a program many times, and compares every stack three ways: by
 * libunwind, by rules, and by rules and slots.
 *
 *     step [-b] [-i TICKS] [-n STOPS] [-s SEED] [-t SECONDS] PROGRAM
 *          [ARGUMENT...]
 *
 * It is interrupted at random, and followed for some hundred single steps each
 * time; every trap of its own (int3) and every signal is a stop too.  With -b
 * nothing counts before its first trap, with -i before so many ticks of 700 us
 * (the dynamic linker starts all programs alike).  A program that ends too soon
 * is started again.  The exit status is 0 if no stack
 * differed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/table.h"
#include "tracer/process/symbols.h"
#include "unwinder/unwinder.h"

enum {
	THREADS_MAX = 256,
	SHOWN = 3,
	BURST_MIN = 50,
	BURST_MORE = 400,
	TICK_US = 700,
	PATIENCE = 50, /* ticks for a step to come */
	MAP_MAX = 1 << 20,
};

struct stepper {
	pid_t pid;
	pid_t tid[THREADS_MAX];
	int threads;
	bool began;   /* its exec is done */
	bool waiting; /* for its first trap */
	int ticks;    /* to wait for before */
	pid_t stepped;
	int steps, patience;

	struct unwinder *unwinder;
	struct symbols *symbols;
	struct table slots; /* tid -> struct slots */
	char *map, *old_map;
	unsigned generation;
	bool known;

	long stops, wanted, mismatches;
	long broken; /* stacks that libunwind cannot follow to the end */
	uint64_t frames;
	time_t until;
};

static struct frame cold[UNWINDER_DEPTH_MAX], warm[UNWINDER_DEPTH_MAX];

static void stop(const char *what)
{
	fprintf(stderr, "step: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int read_thread(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct iovec local = { buffer, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };
	ssize_t n =
		process_vm_readv(*(pid_t *)context, &local, 1, &remote, 1, 0);

	if (n < 0 && errno == ESRCH)
		return -ESRCH;
	return n == (ssize_t)size ? 0 : -EFAULT;
}

/* Has the map changed since it was read last? */
static bool map_changed(struct stepper *stepper)
{
	char path[32], *swap = stepper->old_map;
	size_t used = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", stepper->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		stop(path);
	stepper->old_map = stepper->map;
	stepper->map = swap;
	while ((n = read(fd, swap + used, MAP_MAX - 1 - used)) > 0)
		used += (size_t)n;
	swap[used] = '\0';
	close(fd);
	return strcmp(stepper->map, stepper->old_map) != 0;
}

static int give_modules(struct stepper *stepper)
{
	const struct module *const *module;
	size_t count = symbols_modules(stepper->symbols, &module);
	_cleanup_(freep) struct unwinder_module *list =
		calloc(count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i] = (struct unwinder_module){
			module[i]->start,	 module[i]->end,
			module[i]->text_start,	 module[i]->text_end,
			module[i]->eh_frame_hdr, module[i]->eh_frame_hdr_size,
		};
	return unwinder_modules(stepper->unwinder, list, count);
}

static void update_modules(struct stepper *stepper)
{
	_cleanup_(maps_freep) struct maps *maps = NULL;
	struct error error = { 0 };
	unsigned generation;

	if (!map_changed(stepper) && stepper->known)
		return;
	if (maps_read(stepper->pid, &maps, &error) < 0 ||
	    symbols_update(stepper->symbols, maps) < 0)
		stop("map");
	generation = symbols_generation(stepper->symbols);
	if (stepper->known && generation == stepper->generation)
		return;
	stepper->generation = generation;
	stepper->known = true;
	if (give_modules(stepper) < 0)
		stop("modules");
}

static struct slots *slots_of(struct stepper *stepper, pid_t tid)
{
	struct slots *slots = table_get(&stepper->slots, (uint64_t)tid);

	if (slots)
		return slots;
	if (slots_new(&slots) < 0 ||
	    table_put(&stepper->slots, (uint64_t)tid, slots) < 0)
		stop("slots");
	return slots;
}

static void compare(struct stepper *stepper, const char *what, int cold_end,
		    size_t cold_count, int end, size_t count)
{
	size_t i = 0;

	while (i < cold_count && i < count && cold[i].ip == warm[i].ip &&
	       cold[i].cfa == warm[i].cfa)
		i++;
	if (cold_end == end && cold_count == count && i == count)
		return;
	if (stepper->mismatches++ < SHOWN)
		fprintf(stderr,
			"%s: stop %ld at %#jx: frame %zu of %zu is %#jx, of "
			"libunwind's %zu %#jx; ends %d, %d\n",
			what, stepper->stops, (uintmax_t)cold[0].ip, i, count,
			(uintmax_t)(i < count ? warm[i].ip : 0), cold_count,
			(uintmax_t)(i < cold_count ? cold[i].ip : 0), end,
			cold_end);
}

static void check(struct stepper *stepper, pid_t tid)
{
	struct memory memory = { &tid, read_thread, NULL };
	struct user_regs_struct regs;
	size_t cold_count, count, fresh;
	int cold_end, end;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0)
		return;
	update_modules(stepper);
	cold_end = unwinder_walk(stepper->unwinder, &regs, &memory, cold,
				 UNWINDER_DEPTH_MAX, &cold_count);
	if (cold_end < 0)
		return;
	stepper->stops++;
	stepper->frames += cold_count;
	stepper->broken += cold_end == UNWINDER_END_BROKEN;
	end = unwinder_walk_warm(stepper->unwinder, NULL, &regs, &memory, warm,
				 UNWINDER_DEPTH_MAX, &count, &fresh);
	compare(stepper, "rules", cold_end, cold_count, end, count);
	end = unwinder_walk_warm(stepper->unwinder, slots_of(stepper, tid),
				 &regs, &memory, warm, UNWINDER_DEPTH_MAX,
				 &count, &fresh);
	compare(stepper, "slots", cold_end, cold_count, end, count);
}

static void start(struct stepper *stepper, char **argv)
{
	const long options =
		PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	int status;

	stepper->pid = fork();
	if (stepper->pid == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, 0);
		dup2(null, 1);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (stepper->pid < 0 || waitpid(stepper->pid, &status, WUNTRACED) < 0)
		stop("fork");
	if (ptrace(PTRACE_SEIZE, stepper->pid, 0, options) < 0)
		stop("seize");
	kill(stepper->pid, SIGCONT);
	stepper->threads = 1;
	stepper->tid[0] = stepper->pid;
	stepper->stepped = 0;
	stepper->began = false;
}

static void note_thread(struct stepper *stepper, pid_t tid)
{
	for (int i = 0; i < stepper->threads; i++)
		if (stepper->tid[i] == tid)
			return;
	if (stepper->threads < THREADS_MAX)
		stepper->tid[stepper->threads++] = tid;
}

static void forget_thread(struct stepper *stepper, pid_t tid)
{
	for (int i = 0; i < stepper->threads; i++)
		if (stepper->tid[i] == tid)
			stepper->tid[i] = stepper->tid[--stepper->threads];
	if (stepper->stepped == tid)
		stepper->stepped = 0;
}

static void on_tick(int signal)
{
}

/* Nobody stopped: interrupt somebody, or give up on who is being stepped. */
static void tick(struct stepper *stepper)
{
	if (!stepper->began || stepper->waiting || !stepper->threads)
		return;
	if (stepper->ticks > 0) {
		stepper->ticks--;
		return;
	}
	if (stepper->stepped && stepper->patience-- > 0)
		return;
	stepper->stepped = 0;
	ptrace(PTRACE_INTERRUPT, stepper->tid[rand() % stepper->threads], 0, 0);
}

static void on_exec(struct stepper *stepper)
{
	stepper->began = true;
	stepper->known = false;
	symbols_free(stepper->symbols);
	if (symbols_new(stepper->pid, &stepper->symbols) < 0)
		stop("symbols");
}

static void on_stop(struct stepper *stepper, pid_t tid, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;
	bool interrupted = event == PTRACE_EVENT_STOP && signal == SIGTRAP;

	note_thread(stepper, tid);
	if (!event && signal == SIGTRAP)
		stepper->waiting = false;
	if (event == PTRACE_EVENT_EXEC)
		on_exec(stepper);
	else if (stepper->began && !stepper->waiting && !stepper->ticks &&
		 (!event || interrupted))
		check(stepper, tid);
	if (interrupted && stepper->began && !stepper->stepped) {
		stepper->stepped = tid;
		stepper->steps = BURST_MIN + rand() % BURST_MORE;
	}
	if (tid == stepper->stepped) {
		stepper->patience = PATIENCE;
		if (--stepper->steps < 0)
			stepper->stepped = 0;
	}
	ptrace(tid == stepper->stepped ? PTRACE_SINGLESTEP : PTRACE_CONT, tid,
	       0, event || signal == SIGTRAP ? 0 : signal);
}

static void run(struct stepper *stepper)
{
	const struct sigaction action = { .sa_handler = on_tick };
	const struct itimerval timer = { { 0, TICK_US }, { 0, TICK_US } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (stepper->stops < stepper->wanted &&
	       time(NULL) < stepper->until) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid < 0 && errno == EINTR)
			tick(stepper);
		else if (tid < 0)
			break;
		else if (WIFSTOPPED(status))
			on_stop(stepper, tid, status);
		else
			forget_thread(stepper, tid);
	}
	kill(stepper->pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
}

static int tell(const struct stepper *stepper, const char *program)
{
	struct unwinder_stats stats;

	unwinder_stats(stepper->unwinder, &stats);
	printf("%s: %ld stops, %.1f frames each, %ld broken off; %ju fresh, "
	       "%ju reused, %ju rules, %ju walks by libunwind; %ld "
	       "mismatches\n",
	       program, stepper->stops,
	       (double)stepper->frames / (double)(stepper->stops + 1),
	       stepper->broken, (uintmax_t)stats.fresh, (uintmax_t)stats.reused,
	       (uintmax_t)stats.rules, (uintmax_t)stats.declined,
	       stepper->mismatches);
	return stepper->mismatches || !stepper->stops;
}

int main(int argc, char **argv)
{
	struct stepper stepper = { .wanted = 40000 };
	int seconds = 300, option, ticks = 0;
	bool waits = false;

	while ((option = getopt(argc, argv, "+bi:n:s:t:")) != -1) {
		if (option == 'b')
			waits = true;
		else if (option == 'i')
			ticks = atoi(optarg);
		else if (option == 'n')
			stepper.wanted = atol(optarg);
		else if (option == 's')
			srand((unsigned)atoi(optarg));
		else if (option == 't')
			seconds = atoi(optarg);
		else
			return 2;
	}
	if (optind == argc)
		return 2;
	stepper.until = time(NULL) + seconds;
	stepper.map = calloc(1, MAP_MAX);
	stepper.old_map = calloc(1, MAP_MAX);
	if (!stepper.map || !stepper.old_map ||
	    unwinder_new(&stepper.unwinder) < 0)
		stop("memory");
	while (stepper.stops < stepper.wanted && time(NULL) < stepper.until) {
		stepper.waiting = waits;
		stepper.ticks = ticks;
		start(&stepper, argv + optind);
		run(&stepper);
	}
	option = tell(&stepper, argv[optind]);
	table_for_each(&stepper.slots, s) slots_free(s->value);
	table_done(&stepper.slots);
	symbols_free(stepper.symbols);
	unwinder_free(stepper.unwinder);
	free(stepper.map);
	free(stepper.old_map);
	return option;
}
