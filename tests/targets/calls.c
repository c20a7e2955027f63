/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls CASE...: system calls of tests/unit/live.h, each with its buffers on
 * guarded pages, over the end of one, half outside of guarded memory, and
 * outside; twice, over different bytes.  A line of JSON for each tells
 * the result and what is in the buffers.  calls --list: flags and names.
 * tests/e2e/test_calls.py runs it, and compares with a bare run.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/targets/calls.h"
#include "tests/targets/target.h"

enum { BUFFERS = 31, SHOWN = 64 };

static const char *const places[] = { "guarded", "straddles", "mixed", "open" };

static const struct live_cases *const tables[] = {
	&live_files,   &live_control, &live_network, &live_poll,
	&live_process, &live_queues,  &live_rare,    &live_paths,
	&live_more,    &live_place,   &live_short,
};

/* Where the next buffer goes, and what was given out. */
static struct {
	enum calls_place place;
	uint8_t fill;
	uint64_t used;
	unsigned boundary, count;
	struct {
		uint8_t *at;
		size_t size;
		uint8_t *before;
	} buffer[BUFFERS];
} arena;

static uint64_t lines;

/* One instruction each, where a library would use a hundred. */
static void fill(void *to, uint8_t byte, size_t size)
{
	__asm__ volatile("rep stosb"
			 : "+D"(to), "+c"(size)
			 : "a"(byte)
			 : "memory");
}

static void copy(void *to, const void *from, size_t size)
{
	__asm__ volatile("rep movsb"
			 : "+D"(to), "+S"(from), "+c"(size)
			 :
			 : "memory");
}

/* Of @size bytes that begin on a multiple of 8, half lie before a boundary. */
static uint8_t *over_boundary(uint8_t *part, size_t size)
{
	size_t before = size < 16 ? size / 2 : size / 16 * 8;

	arena.boundary++;
	expect(arena.boundary < CALLS_PART / CALLS_STEP);
	return part + arena.boundary * CALLS_STEP - before;
}

static uint8_t *close_by(uint8_t *part, size_t size)
{
	uint8_t *at = part + arena.used + LIVE_GAP;

	arena.used += LIVE_GAP + ((size + 15) & ~(size_t)15);
	expect(arena.used + LIVE_GAP <= CALLS_PART);
	return at;
}

static void *place_buffer(struct scene *scene, size_t size)
{
	uint8_t *at = NULL;

	switch (arena.place) {
	case CALLS_STRADDLES:
		at = over_boundary(calls_arena, size);
		break;
	case CALLS_MIXED:
		at = over_boundary(calls_arena + CALLS_PART, size);
		break;
	case CALLS_OPEN:
		at = close_by(calls_arena + 2 * CALLS_PART, size);
		break;
	case CALLS_GUARDED:
	case CALLS_PLACES:
		at = close_by(calls_arena, size);
	}
	expect(arena.count < BUFFERS);
	arena.buffer[arena.count].at = at;
	arena.buffer[arena.count++].size = size;
	fill(at - LIVE_GAP, arena.fill, size + 2 * LIVE_GAP);
	return at;
}

static void print_bytes(const char *name, const uint8_t *bytes, size_t size)
{
	printf(",\"%s\":\"", name);
	for (size_t i = 0; i < size && i < SHOWN; i++)
		printf("%02x", bytes[i]);
	printf("\"");
}

/* Its bytes before and after, and the first and last that changed. */
static void print_buffer(unsigned i)
{
	size_t size = arena.buffer[i].size, first = 0, last = size;
	const uint8_t *before = arena.buffer[i].before + LIVE_GAP;
	uint8_t *after = malloc(size + 2 * LIVE_GAP);

	copy(after, arena.buffer[i].at - LIVE_GAP, size + 2 * LIVE_GAP);
	for (size_t k = 0; k < LIVE_GAP; k++)
		expect(after[k] == arena.fill &&
		       after[LIVE_GAP + size + k] == arena.fill);
	while (first < size && before[first] == after[LIVE_GAP + first])
		first++;
	while (last > first && before[last - 1] == after[LIVE_GAP + last - 1])
		last--;

	printf("%s{\"at\":%lu,\"size\":%zu,\"first\":%zu,\"last\":%zu",
	       i ? "," : "", (unsigned long)P(arena.buffer[i].at), size, first,
	       last);
	printf(",\"hash\":\"%016lx\"", hash(after + LIVE_GAP, size));
	print_bytes("before", before, size);
	print_bytes("after", after + LIVE_GAP, size);
	printf("}");
	free(after);
}

static void keep_before(void)
{
	for (unsigned i = 0; i < arena.count; i++) {
		size_t size = arena.buffer[i].size + 2 * LIVE_GAP;

		arena.buffer[i].before = malloc(size);
		copy(arena.buffer[i].before, arena.buffer[i].at - LIVE_GAP,
		     size);
	}
}

/* The next case begins as this one did. */
static void leave_no_trace(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_range(3, ~0U, 0);
	expect(chdir("/") == 0);
}

static void run(const struct live_case *row, enum calls_place place,
		uint8_t canary)
{
	struct scene scene = { .place = place_buffer };
	const uint64_t *a = scene.call.args;
	long r;

	memset(&arena, 0, sizeof(arena));
	arena.place = place;
	arena.fill = canary;
	row->prepare(&scene);
	keep_before();
	/* Tells in the log which call the events that follow are of. */
	*(volatile uint64_t *)(calls_arena + CALLS_PART - 8) = ++lines;
	r = syscall(scene.call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (r == -1)
		r = -errno;
	if (r == 0 &&
	    (scene.call.number == SYS_clone || scene.call.number == SYS_clone3))
		_exit(0);
	/* What it set going ends before we look: a timer, new descriptors. */
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);

	printf("{\"case\":\"%s\",\"place\":\"%s\",\"number\":%d,"
	       "\"flags\":%u,\"result\":%ld,\"buffers\":[",
	       row->name, places[place], scene.call.number, row->flags, r);
	for (unsigned i = 0; i < arena.count; i++) {
		print_buffer(i);
		free(arena.buffer[i].before);
	}
	printf("]}\n");
	if (scene.clean)
		scene.clean(scene.id);
	leave_no_trace();
}

static void run_case(const struct live_case *row)
{
	for (unsigned place = 0; place < CALLS_PLACES; place++) {
		run(row, place, 0x5a);
		run(row, place, 0xa5);
	}
}

int main(int argc, char **argv)
{
	int list = argc == 2 && strcmp(argv[1], "--list") == 0;

	alarm(60);
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (size_t i = 0; i < tables[t]->count; i++) {
			const struct live_case *row = &tables[t]->rows[i];

			if (list)
				printf("%u %s\n", row->flags, row->name);
			for (int k = 1; k < argc && !list; k++)
				if (strcmp(argv[k], row->name) == 0)
					run_case(row);
		}
	return 0;
}
