/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>

#include "tracer/tally.h"

struct class_count {
	const char *kind; /* static */
	uint8_t op;
	uint64_t count;
	char name[];
};

struct unseen_count {
	uint64_t count;
	char reason[];
};

enum { CLASSES_MAX = 100000 };

static struct class_count *find_class(struct session *session, const char *kind,
				      const char *name, uint8_t op)
{
	size_t length = strlen(name);
	uint64_t key = table_hash(name, length) * 31 + op;
	struct class_count *count;

	/* Probe on: another class may have the same hash. */
	for (;; key++) {
		count = table_get(&session->classes, key);
		if (!count)
			break;
		if (count->op == op && count->kind == kind &&
		    strcmp(count->name, name) == 0)
			return count;
	}
	if (session->classes.count >= CLASSES_MAX)
		return NULL;
	count = calloc(1, sizeof(*count) + length + 1);
	if (!count)
		return NULL;
	count->kind = kind;
	count->op = op;
	memcpy(count->name, name, length + 1);
	if (table_put(&session->classes, key, count) < 0) {
		free(count);
		return NULL;
	}
	return count;
}

void tally_access(struct session *session, const struct component *component,
		  uint8_t op)
{
	struct class_count *count = session->last_class;

	if (!count || count->op != op || count->kind != component->kind ||
	    strcmp(count->name, component->name) != 0)
		count = find_class(session, component->kind, component->name,
				   op);
	session->last_class = count;
	if (count)
		count->count++;
	else
		session->uncounted++;
}

static int by_count(const void *a, const void *b)
{
	const struct event_class_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

size_t tally_classes(const struct session *session,
		     struct event_class_count *ret, size_t max, uint64_t *rest)
{
	struct event_class_count *all =
		calloc(session->classes.count + 1, sizeof(*all));
	size_t count = 0;

	*rest = session->uncounted;
	if (!all)
		return 0;
	table_for_each(&session->classes, s)
	{
		const struct class_count *class = s->value;

		all[count++] = (struct event_class_count){
			.kind = class->kind,
			.name = class->name,
			.op = access_name(class->op),
			.count = class->count,
		};
	}
	qsort(all, count, sizeof(*all), by_count);
	for (size_t i = max; i < count; i++)
		*rest += all[i].count;
	count = min_u64(count, max);
	memcpy(ret, all, count * sizeof(*all));
	free(all);
	return count;
}

static void add_unseen(struct session *session, const char *reason,
		       uint64_t count)
{
	uint64_t key = table_hash(reason, strlen(reason));
	struct unseen_count *unseen;

	unseen = table_get(&session->unseen, key);
	if (!unseen) {
		unseen = calloc(1, sizeof(*unseen) + strlen(reason) + 1);
		if (!unseen)
			return;
		strcpy(unseen->reason, reason);
		if (table_put(&session->unseen, key, unseen) < 0) {
			free(unseen);
			return;
		}
	}
	unseen->count += count;
}

void report_unseen(struct session *session, const char *format, ...)
{
	char reason[256];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	add_unseen(session, reason, 1);
}

size_t tally_unseen(const struct session *session, struct event_count **ret)
{
	size_t count = 0;

	*ret = calloc(session->unseen.count + 1, sizeof(**ret));
	if (!*ret)
		return 0;
	table_for_each(&session->unseen, s)
	{
		const struct unseen_count *unseen = s->value;

		(*ret)[count++] =
			(struct event_count){ unseen->reason, unseen->count };
	}
	return count;
}

static void merge_classes(struct session *to, const struct session *from)
{
	to->uncounted += from->uncounted;
	table_for_each(&from->classes, s)
	{
		const struct class_count *class = s->value;
		struct class_count *count =
			find_class(to, class->kind, class->name, class->op);

		if (count)
			count->count += class->count;
		else
			to->uncounted += class->count;
	}
}

void tally_merge(struct session *to, const struct session *from)
{
	const struct counts *more = &from->counts;
	struct counts *c = &to->counts;

	c->faults += more->faults;
	c->performed += more->performed;
	c->run_ahead += more->run_ahead;
	c->stepped += more->stepped;
	c->unknown += more->unknown;
	c->neighbours += more->neighbours;
	c->kernel += more->kernel;
	c->lost += more->lost;
	c->own_signals += more->own_signals;
	c->slices += more->slices;
	c->samples += more->samples;
	c->unsampled += more->unsampled;
	c->unexplained += more->unexplained;
	to->watch.born += from->watch.born;
	to->guard.refused += from->guard.refused;
	to->stopped_ns += from->stopped_ns;
	merge_classes(to, from);
	stack_merge(to, from);
	table_for_each(&from->unseen, s)
	{
		const struct unseen_count *unseen = s->value;

		add_unseen(to, unseen->reason, unseen->count);
	}
}

void report_done(struct session *session)
{
	table_for_each(&session->classes, s) free(s->value);
	table_done(&session->classes);
	table_for_each(&session->unseen, s) free(s->value);
	table_done(&session->unseen);
}
