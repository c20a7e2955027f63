/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/component/area.h"
#include "tracer/process/demangle.h"
#include "tracer/process/mem.h"
#include "tracer/watch_find.h"
#include "tracer/watch_member.h"

enum { SAME_NAME = 8, NEAR = 3 };
enum { ARENAS_MOST = 1024 /* that are looked for in one mapping */ };

int finder_want(struct finder *finder, uint64_t start, uint64_t end)
{
	finder->watch->found[finder->spec]++;
	return ranges_add(&finder->watch->bytes, start, end, finder->spec);
}

/* "Did you mean" with the names that come nearest. */
static int no_such_symbol(struct finder *finder, const struct spec *spec)
{
	struct symbol near[NEAR];
	size_t count =
		symbols_near(finder->process->symbols, spec->name, near, NEAR);
	char names[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < count && used < sizeof(names); i++) {
		_cleanup_(freep) char *plain = demangle(near[i].name);
		int n;

		if (i && strcmp(near[i].name, near[i - 1].name) == 0)
			continue; /* the same in another module */
		n = snprintf(names + used, sizeof(names) - used, "%s%s",
			     i ? ", " : "; did you mean ",
			     plain ? plain : near[i].name);

		used += n > 0 ? (size_t)n : 0;
	}
	return error_set(finder->err, -ENOENT,
			 "no data symbol '%s' in %s%s%s%s", spec->name,
			 spec->library[0] ? spec->library : "the program",
			 spec->library[0] ? "" : " or its libraries", names,
			 count ? "?"
			       : "; a stripped program has no names: use "
				 "0xADDR+LEN, class:GLOB or map:");
}

static int ambiguous(struct finder *finder, const struct spec *spec,
		     const struct symbol *symbol, size_t count)
{
	char names[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < count && used < sizeof(names); i++) {
		int n = snprintf(names + used, sizeof(names) - used,
				 "%s%s:%s at 0x%" PRIx64, i ? ", " : "",
				 symbol[i].module->name, spec->name,
				 symbol[i].addr);

		used += n > 0 ? (size_t)n : 0;
	}
	return error_set(finder->err, -ENOTUNIQ,
			 "symbol '%s' is there %zu times: say which (%s)",
			 spec->name, count, names);
}

static bool library_is_loaded(struct finder *finder, const char *library)
{
	const struct module *const *module;
	size_t count = symbols_modules(finder->process->symbols, &module);

	for (size_t i = 0; i < count; i++)
		if (strncmp(module[i]->name, library, strlen(library)) == 0)
			return true;
	return false;
}

/* Without LIB a name means the program's own, if it has one. */
static size_t prefer_program(const struct finder *finder, struct symbol *symbol,
			     size_t count)
{
	char link[48], path[PATH_MAX];
	ssize_t length;
	size_t kept = 0;

	snprintf(link, sizeof(link), "/proc/%d/exe",
		 process_proc(finder->process));
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	for (size_t i = 0; i < count; i++)
		if (strcmp(symbol[i].module->path, path) == 0)
			symbol[kept++] = symbol[i];
	return kept ? kept : count;
}

/*
 * The symbol of that name, or the one whose member it is.  How many there
 * are; *member is what follows the name.
 */
static size_t look_up(const struct finder *finder, const struct spec *spec,
		      struct symbol symbol[SAME_NAME], const char **member)
{
	const char *library = spec->library[0] ? spec->library : NULL;
	struct symbols *symbols = finder->process->symbols;
	char name[sizeof(spec->name)];
	size_t count;

	strcpy(name, spec->name);
	do
		count = symbols_named(symbols, library, name, symbol,
				      SAME_NAME);
	while (!count && member_cut(name));
	*member = spec->name + strlen(name);
	if (!library && count > 1)
		count = prefer_program(finder, symbol,
				       min_u64(count, SAME_NAME));
	return count;
}

static int find_symbol(struct finder *finder, const struct spec *spec)
{
	struct symbol symbol[SAME_NAME];
	const char *member;
	size_t count = look_up(finder, spec, symbol, &member);

	if (count > 1)
		return ambiguous(finder, spec, symbol,
				 min_u64(count, SAME_NAME));
	if (count == 0 && spec->library[0] &&
	    !library_is_loaded(finder, spec->library))
		return 0; /* pending: it may be loaded later */
	if (count == 0)
		return no_such_symbol(finder, spec);
	if (symbol[0].function)
		return error_set(finder->err, -EINVAL,
				 "'%s' is a function; only data can be "
				 "watched",
				 spec->name);
	if (*member)
		return member_of_symbol(finder, &symbol[0], member);
	return finder_want(finder, symbol[0].addr,
			   symbol[0].addr +
				   (symbol[0].size ? symbol[0].size : 8));
}

/* Also where a stack is: it was named. */
static int want_named(struct finder *finder, uint64_t start, uint64_t end)
{
	struct watch *watch = finder->watch;
	int r = finder_want(finder, start, end);

	if (r < 0 || watch->no_stacks)
		return r;
	return ranges_add(&watch->named, page_down(start), page_up(end), 0);
}

static int find_range(struct finder *finder, const struct spec *spec)
{
	uint64_t at = spec->start;

	while (at < spec->end) {
		const struct mapping *m = maps_find(finder->process->maps, at);

		if (!m)
			return error_set(finder->err, -EFAULT,
					 "cannot watch '%s': process %d has no "
					 "memory at 0x%" PRIx64 "; /proc/%d/"
					 "maps shows where it has some while "
					 "it runs, and SYMBOL or class:GLOB "
					 "find what moves with each run",
					 spec->text, finder->process->pid, at,
					 finder->process->pid);
		at = m->end;
	}
	return want_named(finder, spec->start, spec->end);
}

static bool is_stack(const struct mapping *m)
{
	return strncmp(m->path, "[stack", 6) == 0;
}

/* Rights of the program's own: our closed pages show ours. */
static int true_prot(const struct finder *finder, const struct mapping *m)
{
	const struct range *ours =
		ranges_overlap(&finder->guard->pages, m->start, m->end);

	return ours ? (int)ours->tag : m->prot;
}

bool finder_holds_objects(const struct finder *finder, const struct mapping *m)
{
	int prot = true_prot(finder, m);

	return !m->shared && (prot & PROT_WRITE) && !(m->prot & PROT_EXEC) &&
	       !is_stack(m);
}

static bool is_anonymous(const struct mapping *m)
{
	return m->inode == 0 && m->path[0] == '\0';
}

/* The zero-initialised rest of a module: anonymous, inside its extent. */
static bool is_bss(const struct finder *finder, const struct mapping *m)
{
	return is_anonymous(m) &&
	       symbols_module(finder->process->symbols, m->start);
}

/* Nobody has been there: glibc makes it writable and then begins it. */
static bool is_reserved(const struct finder *finder, uint64_t start)
{
	uint64_t last = start + ARENA_HEAP - 1;
	const struct mapping *m = maps_find(finder->process->maps, last);

	return m && is_anonymous(m) && m->prot == PROT_NONE &&
	       !ranges_find(&finder->guard->pages, last);
}

/* Does the heap of an arena begin at @start? */
static bool is_arena(const struct finder *finder, uint64_t start)
{
	const struct mapping *m = maps_find(finder->process->maps, start);
	uint64_t info[4];

	if (!m || !is_anonymous(m))
		return false;
	if (mem_is_missing(process_pagemap(finder->process), start, start + 1))
		return is_reserved(finder, start);
	if (mem_read(finder->process->mem, start, info, sizeof(info)) < 0)
		return false;
	return area_is_arena(finder->process->maps, info) ||
	       (!info[0] && is_reserved(finder, start));
}

/*
 * Of memory without a file the part that glibc's malloc has for its arenas, or
 * the rest.  Mappings that were made apart may be one to the kernel.
 */
static int want_anonymous(struct finder *finder, const struct mapping *m,
			  bool heap)
{
	uint64_t head = m->start & ~(ARENA_HEAP - 1), at = m->start;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < ARENAS_MOST && head < m->end; i++) {
		uint64_t low = max_u64(head, m->start);

		head += ARENA_HEAP;
		if (!is_arena(finder, head - ARENA_HEAP))
			continue;
		if (heap)
			r = finder_want(finder, low, min_u64(head, m->end));
		else if (at < low)
			r = finder_want(finder, at, low);
		at = min_u64(head, m->end);
	}
	if (r == 0 && !heap && at < m->end)
		r = finder_want(finder, at, m->end);
	return r;
}

static bool map_matches(const struct finder *finder, const struct spec *spec,
			const struct mapping *m)
{
	if (spec->map == SPEC_MAP_PATH)
		return fnmatch(spec->name, m->path, 0) == 0 &&
		       true_prot(finder, m) != PROT_NONE &&
		       !(m->prot & PROT_EXEC);
	if (!finder_holds_objects(finder, m))
		return false;
	switch (spec->map) {
	case SPEC_MAP_HEAP:
		return strcmp(m->path, "[heap]") == 0 ||
		       (is_anonymous(m) && !is_bss(finder, m));
	case SPEC_MAP_DATA:
		return m->inode != 0;
	case SPEC_MAP_BSS:
		return is_bss(finder, m);
	case SPEC_MAP_ANON:
		return is_anonymous(m) && !is_bss(finder, m);
	case SPEC_MAP_STACK:
	case SPEC_MAP_PATH:
	default:
		return false;
	}
}

/* Where this mapping ends for us: a module's .bss may have merged on. */
static uint64_t wanted_end(const struct finder *finder, const struct spec *spec,
			   const struct mapping *m)
{
	const struct module *module;

	if (spec->map != SPEC_MAP_BSS)
		return m->end;
	module = symbols_module(finder->process->symbols, m->start);
	return module ? min_u64(m->end, page_up(module->end)) : m->end;
}

/* The first thread's, whoever runs on it, and those of the others. */
static int find_stacks(struct finder *finder)
{
	const struct maps *maps = finder->process->maps;
	const struct ranges *stacks = &finder->watch->stacks;
	int r = 0;

	for (size_t i = 0; r == 0 && i < maps->count; i++)
		if (is_stack(&maps->mapping[i]))
			r = want_named(finder, maps->mapping[i].start,
				       maps->mapping[i].end);
	for (size_t i = 0; r == 0 && i < stacks->count; i++)
		r = want_named(finder, stacks->range[i].start,
			       stacks->range[i].end);
	return r;
}

static int find_map(struct finder *finder, const struct spec *spec)
{
	const struct maps *maps = finder->process->maps;

	if (spec->map == SPEC_MAP_STACK)
		return find_stacks(finder);
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->mapping[i];
		int r;

		if (!map_matches(finder, spec, m))
			continue;
		if (spec->map == SPEC_MAP_ANON ||
		    (spec->map == SPEC_MAP_HEAP && is_anonymous(m)))
			r = want_anonymous(finder, m,
					   spec->map == SPEC_MAP_HEAP);
		else
			r = finder_want(finder, m->start,
					wanted_end(finder, spec, m));
		if (r < 0)
			return r;
	}
	return 0;
}

int finder_default(struct finder *finder)
{
	const struct maps *maps = finder->process->maps;

	finder->spec = 0;
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->mapping[i];
		int r;

		if (!finder_holds_objects(finder, m))
			continue;
		r = finder_want(finder, m->start, m->end);
		if (r < 0)
			return r;
	}
	return 0;
}

int finder_spec(struct finder *finder, size_t i)
{
	struct spec *spec = &finder->watch->spec[i];

	finder->spec = i;
	finder->watch->found[i] = 0;
	switch (spec->kind) {
	case SPEC_SYMBOL:
		return find_symbol(finder, spec);
	case SPEC_RANGE:
		return find_range(finder, spec);
	case SPEC_CLASS:
		return finder_class(finder, spec);
	case SPEC_MAP:
	default:
		return find_map(finder, spec);
	}
}
