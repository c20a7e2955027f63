/* SPDX-License-Identifier: Apache-2.0 */
/* watch: board */
/* options: --on write --every */
/*
 * Four threads, each with 25,000 locked additions to one member and 25,000
 * plain stores to a member of its own, of one object of a class with a vtable.
 */
#include <pthread.h>

#include "tests/targets/target.h"

struct Game {
	virtual uint64_t total() const = 0;
};

struct Board final : Game {
	constexpr Board() = default;
	uint64_t total() const override
	{
		return locked;
	}
	uint64_t locked = 0;
	volatile uint64_t plain[4] = {};
};

Board board;

static void *play(void *argument)
{
	volatile uint64_t *mine = (volatile uint64_t *)argument;

	for (uint64_t i = 1; i <= 25000; i++) {
		__asm__ volatile("lock addq $1, %0" : "+m"(board.locked));
		*mine = i;
	}
	return nullptr;
}

int main()
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		expect(!pthread_create(&threads[i], nullptr, play,
				       (void *)&board.plain[i]));
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	const Game *game = &board;
	printf("%d", (int)game->total());
	for (volatile uint64_t &value : board.plain)
		printf(" %d", (int)value);
	puts("");
	return 0;
}
