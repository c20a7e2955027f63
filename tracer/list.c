/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/mman.h>

#include "base/table.h"
#include "tracer/family.h"
#include "tracer/list.h"
#include "tracer/process/permission.h"
#include "tracer/process/snapshot.h"
#include "tracer/wake.h"

enum { RECENT = 256 };

struct class_sum {
	const char *runtime; /* static */
	bool wanted;
	uint64_t count, bytes;
	char name[];
};

struct listing {
	struct session *session;
	struct process *process; /* as it was before it was seized */
	struct snapshot *snapshot;
	struct table classes; /* hash -> struct class_sum */
	struct {
		uint64_t class;
		struct class_sum *sum;
	} recent[RECENT];
	struct event_list list;
};

void listing_free(struct listing *listing)
{
	if (!listing)
		return;
	table_for_each(&listing->classes, s) free(s->value);
	table_done(&listing->classes);
	snapshot_free(listing->snapshot);
	process_free(listing->process);
	free(listing);
}

static int nothing(void *context, const struct symbol *symbol)
{
	return 0;
}

/*
 * Names are looked up when the process may have ended: its files are read now.
 */
static int prepare(struct listing *listing, pid_t pid, struct error *err)
{
	int r = process_new(pid, &listing->process);

	if (r == 0)
		r = process_remap(listing->process);
	if (r == 0)
		r = symbols_each(listing->process->symbols, "_ZTV", nothing,
				 NULL);
	if (r == 0)
		r = snapshot_new(listing->process, &listing->snapshot, err);
	return r < 0 && !err->text[0]
		       ? permission_explain(pid, r, PERMISSION_YAMA, err)
		       : r;
}

int listing_new(pid_t pid, struct listing **ret, struct error *err)
{
	_cleanup_(listing_freep) struct listing *listing =
		calloc(1, sizeof(*listing));
	int r = permission_explain(pid, 0, PERMISSION_YAMA, err);

	if (r < 0)
		return r;
	if (!listing)
		return error_set(err, -ENOMEM, "out of memory");
	r = prepare(listing, pid, err);
	if (r == 0)
		*ret = take(listing);
	return r;
}

int list_take(struct session *session, struct listing *listing)
{
	uint64_t start;
	int r;

	listing->session = session;
	report_header(session);
	start = session_now();
	r = process_hold(session->process, NULL, HOLD_ALL);
	session->parked = true;
	if (r == 0)
		r = snapshot_take(listing->snapshot, session->process);
	session_finish(session, "listed");
	session->stopped_ns += session_now() - start;
	return r;
}

static bool is_wanted(const struct session *session, const char *name)
{
	const struct watch *watch = &session->watch;

	for (size_t i = 0; i < watch->nspecs; i++)
		if (!fnmatch(watch->spec[i].name, name, 0))
			return true;
	return !watch->nspecs;
}

static struct class_sum *find_class(struct listing *listing,
				    const struct component *object)
{
	size_t length = strlen(object->name);
	uint64_t key = table_hash(object->name, length);
	struct class_sum *class;

	/* Probe on: another class may have the same hash. */
	for (; (class = table_get(&listing->classes, key)); key++)
		if (class->runtime == object->runtime &&
		    !strcmp(class->name, object->name))
			return class;
	class = calloc(1, sizeof(*class) + length + 1);
	if (!class)
		return NULL;
	class->runtime = object->runtime;
	class->wanted = is_wanted(listing->session, object->name);
	memcpy(class->name, object->name, length + 1);
	if (table_put(&listing->classes, key, class) < 0) {
		free(class);
		return NULL;
	}
	return class;
}

static int count_object(void *context, const struct component *object)
{
	size_t slot = object->class / 16 % RECENT;
	struct listing *listing = context;
	struct class_sum *class = listing->recent[slot].sum;

	if (!object->class || listing->recent[slot].class != object->class ||
	    class->runtime != object->runtime)
		class = find_class(listing, object);
	if (!class)
		return -ENOMEM;
	listing->recent[slot].class = object->class;
	listing->recent[slot].sum = class;
	class->count += !object->member[0];
	class->bytes += object->size;
	return wake_leave() ? -EINTR : 0;
}

static int look_through(void *context, uint64_t start, uint64_t end)
{
	struct listing *listing = context;
	const struct watch *watch = &listing->session->watch;

	listing->list.scanned += end - start;
	return resolver_objects(listing->session->resolver, start, end,
				watch->nspecs == 1 ? watch->spec[0].name : "*",
				count_object, listing);
}

/* As what is watched by class: no stacks, no code, nothing constant. */
static bool may_hold(const struct mapping *m)
{
	return !m->shared && m->prot & PROT_WRITE && !(m->prot & PROT_EXEC) &&
	       strncmp(m->path, "[stack", 6) != 0;
}

static int look_at_all(struct listing *listing)
{
	const struct maps *maps = snapshot_maps(listing->snapshot);
	int r = 0;

	for (size_t i = 0; r == 0 && i < maps->count; i++)
		if (may_hold(&maps->mapping[i]))
			r = snapshot_parts(listing->snapshot, &maps->mapping[i],
					   look_through, listing);
	return r;
}

/* Names of the process as it was then. */
static int resolve_past(struct session *session, struct listing *listing)
{
	struct world *world = &session->world;
	int r;

	*world = (struct world){
		.pid = session->process->pid,
		.memory = snapshot_memory(listing->snapshot),
		.maps = snapshot_maps(listing->snapshot),
		.symbols = listing->process->symbols,
		.runtimes = session->options->runtimes,
		.living = true,
	};
	r = symbols_update(world->symbols, world->maps);
	return r < 0 ? r : resolver_new(world, &session->resolver);
}

static int larger(const void *a, const void *b)
{
	const struct class_sum *x = *(struct class_sum *const *)a;
	const struct class_sum *y = *(struct class_sum *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int tell_classes(struct listing *listing)
{
	_cleanup_(freep) struct class_sum **sorted =
		calloc(listing->classes.count + 1, sizeof(*sorted));
	struct log *log = listing->session->log;
	size_t count = 0;

	if (!sorted)
		return -ENOMEM;
	table_for_each(&listing->classes, s)
	{
		struct class_sum *class = s->value;

		if (class->wanted && class->count)
			sorted[count++] = class;
	}
	qsort(sorted, count, sizeof(*sorted), larger);
	listing->list.classes = count;
	for (size_t i = 0; i < count && !log->gone; i++) {
		listing->list.objects += sorted[i]->count;
		listing->list.bytes += sorted[i]->bytes;
		record_class(&log->buffer,
			     &(struct event_class){
				     .pid = listing->session->process->pid,
				     .runtime = sorted[i]->runtime,
				     .name = sorted[i]->name,
				     .count = sorted[i]->count,
				     .bytes = sorted[i]->bytes,
			     });
		log_line(log);
	}
	return 0;
}

int list_tell(struct session *session, struct listing *listing,
	      struct error *err)
{
	uint64_t start = session_now();
	int r = resolve_past(session, listing);

	if (r == 0)
		report_runtimes(session);
	if (r == 0)
		r = look_at_all(listing);
	if (r == 0)
		r = tell_classes(listing);
	listing->list.copied = snapshot_size(listing->snapshot);
	listing->list.seconds = (double)(session_now() - start) / 1e9;
	session->family->list = &listing->list;
	/* What it asks goes before it does. */
	resolver_free(session->resolver);
	session->resolver = NULL;
	return r < 0 ? error_set(err, r,
				 "the memory of process %d could not "
				 "be looked through (%s)",
				 session->process->pid, strerror(-r))
		     : 0;
}
