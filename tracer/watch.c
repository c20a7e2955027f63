/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/watch.h"
#include "tracer/watch_find.h"

const char *refusal_name(enum refusal refusal)
{
	static const char *const name[REFUSED_KINDS] = {
		[REFUSED_STACK] = "stack in use",
		[REFUSED_TCB] = "thread control block",
		[REFUSED_ALTSTACK] = "alternate signal stack",
		[REFUSED_RSEQ] = "rseq area",
		[REFUSED_SEQUENCE] = "used in a restartable sequence",
		[REFUSED_ROBUST] = "robust futex list",
		[REFUSED_TID] = "thread id that the kernel clears",
		[REFUSED_EXECUTABLE] = "executable",
		[REFUSED_READ_ONLY] = "not accessible in that way anyhow",
		[REFUSED_ASYNC] = "buffer of asynchronous I/O",
		[REFUSED_OURS] = "memory of cls itself",
		[REFUSED_USERFAULT] = "registered with a userfaultfd",
		[REFUSED_HUGE] = "huge pages (hugetlb)",
		[REFUSED_FUTEX] = "futex, with --survive",
		[REFUSED_ARGUMENTS] = "arguments and environment",
		[REFUSED_KERNEL] = "the kernel refused mprotect",
	};

	return name[refusal];
}

int watch_init(struct watch *watch, const struct options *options,
	       struct error *err)
{
	*watch = (struct watch){
		.broad = true,
		.no_stacks = options->survive,
		.births = options->births_exact,
	};
	watch->spec = calloc(options->nwatches + 1, sizeof(*watch->spec));
	watch->found = calloc(options->nwatches + 1, sizeof(*watch->found));
	watch->met = calloc(options->nwatches + 1, sizeof(*watch->met));
	if (!watch->spec || !watch->found || !watch->met)
		return error_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < options->nwatches; i++) {
		int r = spec_parse(options->watches[i], &watch->spec[i], err);

		if (r < 0)
			return r;
		watch->broad &= spec_is_broad(&watch->spec[i]);
		watch->nspecs++;
	}
	if (watch->no_stacks && watch_wants_stacks(watch))
		return error_set(err, -EINVAL,
				 "map:stack: not with --survive, because the "
				 "handler that saves the program needs its "
				 "stack; leave --survive out");
	return 0;
}

/* The number of map:stack; nspecs: it is not among them. */
static size_t stacks_spec(const struct watch *watch)
{
	size_t i = 0;

	while (i < watch->nspecs && (watch->spec[i].kind != SPEC_MAP ||
				     watch->spec[i].map != SPEC_MAP_STACK))
		i++;
	return i;
}

bool watch_wants_stacks(const struct watch *watch)
{
	return stacks_spec(watch) < watch->nspecs;
}

int watch_newborn(struct watch *watch, uint64_t start, uint64_t end)
{
	int r = ranges_add(&watch->newborn, start, end, 0);

	if (r == 0)
		r = ranges_add(&watch->named, start, end, 0);
	return r == 0 ? ranges_add(&watch->bytes, start, end,
				   stacks_spec(watch))
		      : r;
}

void watch_done(struct watch *watch)
{
	free(watch->spec);
	free(watch->found);
	free(watch->met);
	ranges_done(&watch->bytes);
	ranges_done(&watch->pages);
	ranges_done(&watch->never);
	ranges_done(&watch->refused);
	ranges_done(&watch->minded);
	ranges_done(&watch->stacks);
	ranges_done(&watch->newborn);
	ranges_done(&watch->named);
}

int watch_refuse(struct watch *watch, uint64_t start, uint64_t end,
		 enum refusal why)
{
	return ranges_add(&watch->never, page_down(start), page_up(end), why);
}

int watch_stack(struct watch *watch, uint64_t start, uint64_t end)
{
	return ranges_add(&watch->stacks, page_down(start), page_up(end), 0);
}

/* Part of one mapping: to the pages, or to what is refused and why. */
static int add_pages(struct watch *watch, const struct guard *guard,
		     const struct mapping *m, uint64_t start, uint64_t end)
{
	uint64_t next;
	int r = 0;

	for (uint64_t at = start; r == 0 && at < end; at = next) {
		const struct range *ours = ranges_find(&guard->pages, at);
		const struct range *after =
			ranges_overlap(&guard->pages, at + 1, end);
		int prot = ours ? (int)ours->tag : m->prot;

		next = ours    ? min_u64(ours->end, end)
		       : after ? after->start
			       : end;
		if (m->prot & PROT_EXEC)
			r = ranges_add(&watch->refused, at, next,
				       REFUSED_EXECUTABLE);
		else if (prot == PROT_NONE ||
			 (guard->writes_only && !(prot & PROT_WRITE)))
			r = ranges_add(&watch->refused, at, next,
				       REFUSED_READ_ONLY);
		else
			r = ranges_add(&watch->pages, at, next, (uint64_t)prot);
	}
	return r;
}

/* The pages under these bytes. */
static int find_pages(struct watch *watch, const struct process *process,
		      const struct guard *guard, const struct ranges *bytes)
{
	for (size_t i = 0; i < bytes->count; i++) {
		uint64_t at = page_down(bytes->range[i].start);
		uint64_t end = page_up(bytes->range[i].end);

		while (at < end) {
			const struct mapping *m = maps_above(process->maps, at);
			uint64_t start, stop;
			int r;

			if (!m || m->start >= end)
				break;
			start = max_u64(m->start, at);
			stop = min_u64(m->end, end);
			r = add_pages(watch, guard, m, start, stop);
			if (r < 0)
				return r;
			at = stop;
		}
	}
	return 0;
}

static int take_range(struct watch *watch, struct range never, uint64_t why)
{
	const struct range *hit;

	while ((hit = ranges_overlap(&watch->pages, never.start, never.end))) {
		uint64_t start = max_u64(hit->start, never.start);
		uint64_t end = min_u64(hit->end, never.end);
		int r = ranges_add(&watch->refused, start, end, why);

		if (r == 0)
			r = ranges_remove(&watch->pages, start, end);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Stacks in use that nobody named. */
static int take_stacks(struct watch *watch)
{
	struct ranges others = { 0 };
	int r = ranges_join(&others, &watch->stacks);

	for (size_t i = 0; r == 0 && i < watch->named.count; i++)
		r = ranges_remove(&others, watch->named.range[i].start,
				  watch->named.range[i].end);
	for (size_t i = 0; r == 0 && i < others.count; i++)
		r = take_range(watch, others.range[i], REFUSED_STACK);
	ranges_done(&others);
	return r;
}

/* Take out what must never be guarded, and keep what that was. */
static int take_refused(struct watch *watch)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < watch->never.count; i++)
		r = take_range(watch, watch->never.range[i],
			       watch->never.range[i].tag);
	return r == 0 ? take_stacks(watch) : r;
}

int watch_resolve(struct watch *watch, struct process *process,
		  const struct guard *guard, struct resolver *resolver,
		  struct error *err)
{
	struct finder finder = {
		.watch = watch,
		.process = process,
		.guard = guard,
		.resolver = resolver,
		.err = err,
	};
	int r = 0;

	ranges_clear(&watch->bytes);
	ranges_clear(&watch->pages);
	ranges_clear(&watch->refused);
	ranges_clear(&watch->named);
	if (watch->nspecs == 0)
		r = finder_default(&finder);
	for (size_t i = 0; r == 0 && i < watch->nspecs; i++) {
		r = finder_spec(&finder, i);
		/* Not in this program, or no longer: the others may be. */
		if (!err && r != -ENOMEM && r != -ESRCH)
			r = 0;
	}
	/* Behind the others, whose bytes stay theirs. */
	if (r == 0 && watch->births)
		r = finder_births(&finder);
	if (r == 0)
		r = find_pages(watch, process, guard, &watch->bytes);
	if (r == 0 && watch->pages.count)
		r = find_pages(watch, process, guard, &watch->minded);
	if (r == 0)
		r = take_refused(watch);
	return r;
}

int watch_hit(const struct watch *watch, uint64_t addr, uint64_t size)
{
	const struct range *range =
		ranges_overlap(&watch->bytes, addr, addr + (size ? size : 1));

	return range ? (int)range->tag : -1;
}
