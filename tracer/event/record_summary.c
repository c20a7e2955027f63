/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/event/line.h"
#include "tracer/event/record.h"

static void record_class_count(struct json *json,
			       const struct event_class_count *class)
{
	json_open(json, NULL);
	line_text(json, "kind", class->kind);
	line_text(json, line_name_key(class->kind), class->name);
	line_text(json, "op", class->op);
	json_number(json, "count", class->count);
	json_close(json);
}

static void record_accesses(struct json *json,
			    const struct event_summary *summary)
{
	json_open(json, "accesses");
	json_number(json, "performed", summary->performed);
	json_number(json, "run_ahead", summary->run_ahead);
	json_number(json, "stepped", summary->stepped);
	json_number(json, "kernel", summary->kernel);
	json_number(json, "unknown", summary->unknown);
	json_number(json, "neighbours", summary->neighbours);
	json_number(json, "lost", summary->lost);
	json_close(json);
}

static void record_unseen(struct json *json,
			  const struct event_summary *summary)
{
	json_array(json, "unseen");
	for (size_t i = 0; i < summary->nunseen; i++) {
		if (summary->unseen[i].count == 0)
			continue;
		json_open(json, NULL);
		json_string(json, "reason", summary->unseen[i].reason);
		json_number(json, "count", summary->unseen[i].count);
		json_close(json);
	}
	json_end(json);
}

static void record_classes(struct json *json,
			   const struct event_summary *summary)
{
	json_array(json, "by_class");
	for (size_t i = 0; i < summary->nclasses; i++)
		record_class_count(json, &summary->classes[i]);
	json_end(json);
	if (summary->classes_left_off)
		json_number(json, "by_class_left_off",
			    summary->classes_left_off);
}

static void record_stacks(struct json *json, const struct event_stacks *stacks)
{
	json_open(json, "stacks");
	json_number(json, "walked", stacks->walked);
	json_number(json, "fresh", stacks->fresh);
	json_number(json, "reused", stacks->reused);
	json_number(json, "by_libunwind", stacks->by_libunwind);
	json_number(json, "rules", stacks->rules);
	json_number(json, "reads", stacks->reads);
	json_real(json, "mean", stacks->mean);
	if (stacks->verify)
		json_number(json, "mismatches", stacks->mismatches);
	json_close(json);
}

static void record_list(struct json *json, const struct event_list *list)
{
	json_open(json, "list");
	json_number(json, "classes", list->classes);
	json_number(json, "objects", list->objects);
	json_number(json, "bytes", list->bytes);
	json_number(json, "copied", list->copied);
	json_number(json, "scanned", list->scanned);
	json_real(json, "seconds", list->seconds);
	json_close(json);
}

static void record_times(struct json *json, const struct event_summary *summary)
{
	json_real(json, "wall", summary->wall);
	json_real(json, "stopped", summary->stopped);
	if (summary->wall > 0)
		json_real(json, "overhead", summary->stopped / summary->wall);
}

static void record_end(struct json *json, const char *end, int status)
{
	bool killed = end && strcmp(end, "killed") == 0;

	line_text(json, "end", end);
	if (status >= 0)
		json_integer(json, killed ? "signal" : "status", status);
}

static void record_processes(struct json *json,
			     const struct event_summary *summary)
{
	if (!summary->nprocesses)
		return;
	json_array(json, "processes");
	for (size_t i = 0; i < summary->nprocesses; i++) {
		const struct event_process *process = &summary->processes[i];

		json_open(json, NULL);
		json_integer(json, "pid", process->pid);
		json_number(json, "events", process->events);
		record_end(json, process->end, process->status);
		json_close(json);
	}
	json_end(json);
	if (summary->processes_left_off)
		json_number(json, "processes_left_off",
			    summary->processes_left_off);
}

void record_summary(struct buffer *out, const struct event_summary *summary)
{
	struct json json;

	line_open(&json, out, "summary");
	json_time(&json, "time", &summary->time);
	json_number(&json, "events", summary->events);
	record_accesses(&json, summary);
	json_number(&json, "faults", summary->faults);
	json_number(&json, "own_signals", summary->own_signals);
	json_number(&json, "born_unseen", summary->born_unseen);
	json_number(&json, "unexplained", summary->unexplained);
	json_number(&json, "slices", summary->slices);
	if (summary->stack_hz > 0) {
		json_number(&json, "samples", summary->samples);
		json_number(&json, "unsampled", summary->unsampled);
	}
	json_number(&json, "filters", summary->filters);
	record_unseen(&json, summary);
	record_classes(&json, summary);
	if (summary->stacks)
		record_stacks(&json, summary->stacks);
	if (summary->list)
		record_list(&json, summary->list);
	record_times(&json, summary);
	record_processes(&json, summary);
	record_end(&json, summary->end, summary->status);
	line_close(&json);
}
