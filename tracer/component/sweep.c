/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tracer/component/sweep.h"

enum { PIECE = 1 << 20 };

struct broom {
	const struct view *view;
	int (*words)(void *context, uint64_t addr, const uint64_t *word,
		     size_t count);
	void *context;
	uint64_t *word; /* of a piece */
	uint64_t piece; /* bytes */
};

/* What cannot be read at once is read page by page, and skipped at last. */
static int sweep_piece(struct broom *broom, uint64_t start, uint64_t end)
{
	const struct memory *memory = &broom->view->world->memory;
	int r = 0;

	if (memory_read(memory, start, broom->word, end - start) == 0)
		return broom->words(broom->context, start, broom->word,
				    (end - start) / 8);
	while (r == 0 && start < end) {
		uint64_t stop = min_u64(page_down(start) + PAGE, end);

		if (memory_read(memory, start, broom->word, stop - start) == 0)
			r = broom->words(broom->context, start, broom->word,
					 (stop - start) / 8);
		start = stop;
	}
	return r;
}

static int sweep_range(struct broom *broom, uint64_t start, uint64_t end)
{
	int r = 0;

	start = (start + 7) & ~UINT64_C(7);
	end &= ~UINT64_C(7);
	while (r == 0 && start < end) {
		uint64_t stop = min_u64(start + broom->piece, end);

		r = sweep_piece(broom, start, stop);
		start = stop;
	}
	return r;
}

int sweep(const struct view *view, uint64_t start, uint64_t end,
	  int (*words)(void *context, uint64_t addr, const uint64_t *word,
		       size_t count),
	  void *context)
{
	uint64_t piece = page_up(min_u64(PIECE, end - start));
	_cleanup_(freep) uint64_t *word = malloc(piece);
	struct broom broom = { view, words, context, word, piece };
	const struct maps *maps = view->world->maps;
	const struct mapping *m = maps_above(maps, start);
	int r = 0;

	if (start >= end)
		return 0;
	if (!word)
		return -ENOMEM;
	for (; r == 0 && m && m < maps->mapping + maps->count; m++) {
		if (m->start >= end)
			break;
		r = sweep_range(&broom, max_u64(m->start, start),
				min_u64(m->end, end));
	}
	return r;
}
