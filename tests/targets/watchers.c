/* SPDX-License-Identifier: Apache-2.0 */
/* watch: array */
/* args: perf */
/* args: uring */
/*
 * Fills an array, opens what would see or share its own accesses, and fills
 * another one: "opened", or "none" where that is not permitted.
 */
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { WORDS = 256 };

static _Alignas(4096) struct {
	volatile uint64_t before[WORDS], after[WORDS];
} array;

static void fill(volatile uint64_t *words)
{
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = i;
}

static long perf(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long uring(void)
{
	struct io_uring_params params = { 0 };

	return syscall(SYS_io_uring_setup, 1, &params);
}

int main(int argc, char **argv)
{
	int is_perf = argc > 1 && !strcmp(argv[1], "perf");

	/* No memory joins in between. */
	setvbuf(stdout, NULL, _IONBF, 0);
	fill(array.before);
	puts((is_perf ? perf() : uring()) < 0 ? "none" : "opened");
	fill(array.after);
	return 0;
}
