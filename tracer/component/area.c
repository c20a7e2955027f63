/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/area.h"

enum {
	HEAP_INFO = 48, /* struct _heap_info, 2.35 and later */
	MALLOC_STATE = 2200,
	TCACHE_CHUNK = 0x291,	  /* malloc's first chunk, since 2.30 */
	OLD_TCACHE_CHUNK = 0x251, /* before */
};

static bool is_brk(const struct mapping *m)
{
	return !strcmp(m->path, "[heap]");
}

static bool is_anonymous(const struct mapping *m)
{
	return !m->inode && (!*m->path || !strncmp(m->path, "[anon", 5));
}

static bool joins(const struct mapping *a, const struct mapping *b)
{
	return a->end == b->start &&
	       (is_brk(a) ? is_brk(b) : is_anonymous(b) && is_anonymous(a));
}

/* Our mprotect splits a mapping into thousands: join them, and only once. */
static struct run join(const struct maps *maps, const struct mapping *m)
{
	const struct mapping *first = m, *last = m;
	const struct mapping *stop = maps->mapping + maps->count;

	while (first > maps->mapping && joins(first - 1, first))
		first--;
	while (last + 1 < stop && joins(last, last + 1))
		last++;
	return (struct run){ first->start, last->end, is_brk(m) };
}

/* NULL: no memory there, or that of a file. */
static const struct run *run_of(struct area_finder *finder, uint64_t addr)
{
	const struct mapping *m;
	struct run *run;

	for (unsigned i = 0; i < RUNS; i++) {
		run = &finder->run[i];
		if (addr >= run->start && addr < run->end)
			return run;
	}
	m = finder->maps ? maps_find(finder->maps, addr) : NULL;
	if (!m || (!is_brk(m) && !is_anonymous(m)))
		return NULL;
	run = &finder->run[finder->next_run++ % RUNS];
	*run = join(finder->maps, m);
	return run;
}

/*
 * The start-up code of a static executable takes memory from brk before
 * malloc does: find the thread cache, which malloc makes first of all.
 */
static uint64_t main_first(struct area_finder *finder, uint64_t start,
			   uint64_t end)
{
	if (finder->main_first && finder->main_start == start)
		return finder->main_first;
	finder->main_start = start;
	for (uint64_t at = start; at < start + 2 * PAGE && at < end; at += 16) {
		uint64_t head[2], next[2];

		if (!pages_words(finder->pages, at, head, 2))
			break;
		if (head[1] != TCACHE_CHUNK && head[1] != OLD_TCACHE_CHUNK)
			continue;
		if (pages_words(finder->pages, at + chunk_size(head[1]), next,
				2) &&
		    is_chunk_size(chunk_size(next[1])))
			return finder->main_first = at;
	}
	return start;
}

bool area_is_arena(const struct maps *maps, const uint64_t info[4])
{
	return info[2] >= PAGE && info[2] <= ARENA_HEAP &&
	       info[2] % PAGE == 0 && info[3] >= info[2] &&
	       info[3] <= ARENA_HEAP && maps_find(maps, info[0]);
}

static bool arena_area(struct area_finder *finder, uint64_t addr,
		       struct area *ret)
{
	uint64_t start = addr & ~(ARENA_HEAP - 1), info[4];
	const struct mapping *m = maps_find(finder->maps, start);

	if (!m || !is_anonymous(m) ||
	    !pages_words(finder->pages, start, info, 4))
		return false;
	if (!area_is_arena(finder->maps, info) || addr - start >= info[2])
		return false;
	ret->kind = AREA_CHUNKS;
	ret->first = start + HEAP_INFO;
	/* An arena's own state lies in its first heap. */
	if (info[0] == start + HEAP_INFO)
		ret->first += MALLOC_STATE;
	ret->first = (ret->first + 15) & ~UINT64_C(15);
	ret->end = start + info[2];
	return true;
}

void area_remap(struct area_finder *finder, const struct maps *maps,
		const struct symbols *symbols)
{
	finder->maps = maps;
	finder->symbols = symbols;
	finder->main_first = 0;
	memset(finder->run, 0, sizeof(finder->run));
}

struct area area_of(struct area_finder *finder, uint64_t addr)
{
	const struct run *run = run_of(finder, addr);
	struct area area = { AREA_NONE, 0, 0 };
	const struct module *module;

	if (!run)
		return area;
	area.first = run->start;
	area.end = run->end;
	if (run->brk) {
		area.kind = AREA_CHUNKS;
		area.first = main_first(finder, run->start, run->end);
		return area;
	}
	if (symbols_module(finder->symbols, addr) ||
	    arena_area(finder, addr, &area))
		return area;
	/* The kernel merges a library's .bss with memory behind it. */
	module = symbols_module(finder->symbols, area.first);
	if (module)
		area.first = page_up(module->end);
	area.kind = addr >= area.first ? AREA_MAPPED : AREA_NONE;
	return area;
}
