/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A busy program: functions that take 40, 25, 15, 10, 6 and 4 of a hundred,
 * called in turns.  Each line of its output is how many rounds it made in the
 * last tenth of a second.  Ends when its input does.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sum;

#define SHARE(name, share)                                                     \
	static __attribute__((noinline)) void name(uint64_t seed)              \
	{                                                                      \
		uint64_t x = seed | 1;                                         \
                                                                               \
		for (int i = 0; i < (share)*100; i++)                          \
			x = x * 6364136223846793005u + 1442695040888963407u;   \
		sum += x;                                                      \
	}

SHARE(takes_40, 40)
SHARE(takes_25, 25)
SHARE(takes_15, 15)
SHARE(takes_10, 10)
SHARE(takes_06, 6)
SHARE(takes_04, 4)

static __attribute__((noinline)) void round_of_all(uint64_t i)
{
	takes_40(i);
	takes_25(i);
	takes_15(i);
	takes_10(i);
	takes_06(i);
	takes_04(i);
	sum++;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (poll(&input, 1, 0) == 0) {
		double end = now() + 0.1;
		uint64_t rounds = 0;

		while (now() < end)
			round_of_all(rounds++);
		printf("%ju\n", (uintmax_t)rounds);
		fflush(stdout);
	}
	return 0;
}
