/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/event/record.h"
#include "tracer/event/line.h"

/* Counts up when a promise of clsevents(5) has to be broken. */
enum { SCHEMA_VERSION = 1 };

static void record_options(struct json *json, const struct event_header *header)
{
	json_open(json, "options");
	line_strings(json, "watches", header->watches);
	line_text(json, "on", header->on);
	line_text(json, "policy", header->policy);
	if (header->hz > 0)
		json_real(json, "hz", header->hz);
	json_bool(json, "stacks", header->stacks);
	if (header->stack_hz > 0)
		json_real(json, "stack_hz", header->stack_hz);
	json_bool(json, "exit_kill", header->exit_kill);
	json_bool(json, "survives", header->survives);
	line_text(json, "syscalls", header->syscalls);
	line_text(json, "follow", header->follow);
	if (header->runtimes && header->runtimes[0])
		line_strings(json, "runtimes", header->runtimes);
	if (header->list)
		json_bool(json, "list", true);
	line_text(json, "births", header->births);
	json_close(json);
}

void record_header(struct buffer *out, const struct event_header *header)
{
	struct json json;

	line_open(&json, out, "header");
	json_number(&json, "schema", SCHEMA_VERSION);
	line_text(&json, "version", header->version);
	json_time(&json, "time", &header->start);
	line_strings(&json, "command", header->command);
	json_integer(&json, "pid", header->pid);
	line_text(&json, "executable", header->executable);
	line_text(&json, "host", header->host);
	record_options(&json, header);
	line_close(&json);
}

static void record_range(struct json *json, const struct event_range *range)
{
	json_open(json, NULL);
	line_text(json, "watch", range->watch);
	json_address(json, "start", range->start);
	json_address(json, "end", range->end);
	line_text(json, "component", range->component);
	line_text(json, "refused", range->refused);
	json_close(json);
}

void record_armed(struct buffer *out, const struct event_armed *armed,
		  const struct timespec *time)
{
	struct json json;

	line_open(&json, out, "armed");
	json_time(&json, "time", time);
	json_integer(&json, "pid", armed->pid);
	line_text(&json, "state", armed->state);
	json_number(&json, "pages", armed->pages);
	json_array(&json, "ranges");
	for (size_t i = 0; i < armed->nranges; i++)
		record_range(&json, &armed->ranges[i]);
	json_end(&json);
	json_array(&json, "pending");
	for (size_t i = 0; i < armed->npending; i++)
		json_string(&json, NULL, armed->pending[i]);
	json_end(&json);
	if (armed->nblind)
		json_array(&json, "blind");
	for (size_t i = 0; i < armed->nblind; i++)
		json_string(&json, NULL, armed->blind[i]);
	if (armed->nblind)
		json_end(&json);
	line_text(&json, "self_test", armed->self_test);
	line_close(&json);
}

void record_runtime(struct buffer *out, const struct event_runtime *runtime,
		    const struct timespec *time)
{
	struct json json;

	line_open(&json, out, "runtime");
	json_time(&json, "time", time);
	json_integer(&json, "pid", runtime->pid);
	line_text(&json, "name", runtime->name);
	line_text(&json, "version", runtime->version);
	line_text(&json, "how", runtime->how);
	line_text(&json, "module", runtime->module);
	line_strings(&json, "tells", runtime->tells);
	line_strings(&json, "lacks", runtime->lacks);
	line_text(&json, "reason", runtime->reason);
	line_close(&json);
}

void record_closed(struct buffer *out, pid_t pid, uint64_t start, uint64_t end,
		   const char *reason, const struct timespec *time)
{
	struct json json;

	line_open(&json, out, "closed");
	json_time(&json, "time", time);
	json_integer(&json, "pid", pid);
	json_address(&json, "start", start);
	json_address(&json, "end", end);
	line_text(&json, "reason", reason);
	line_close(&json);
}

void record_class(struct buffer *out, const struct event_class *class)
{
	struct json json;

	line_open(&json, out, "class");
	json_integer(&json, "pid", class->pid);
	line_text(&json, "runtime", class->runtime);
	line_text(&json, "class", class->name);
	json_number(&json, "count", class->count);
	json_number(&json, "bytes", class->bytes);
	line_close(&json);
}

void record_exec(struct buffer *out, pid_t pid, const char *executable,
		 const struct timespec *time)
{
	struct json json;

	line_open(&json, out, "exec");
	json_time(&json, "time", time);
	json_integer(&json, "pid", pid);
	line_text(&json, "executable", executable);
	line_close(&json);
}

void record_fork(struct buffer *out, pid_t pid, pid_t child, const char *how,
		 const struct timespec *time)
{
	struct json json;

	line_open(&json, out, "fork");
	json_time(&json, "time", time);
	json_integer(&json, "pid", pid);
	json_integer(&json, "child", child);
	line_text(&json, "how", how);
	line_close(&json);
}

void record_signal(struct buffer *out, pid_t pid, pid_t tid, int number,
		   uint64_t addr, uint64_t ip, const struct timespec *time)
{
	struct json json;

	line_open(&json, out, "signal");
	json_time(&json, "time", time);
	json_integer(&json, "pid", pid);
	json_integer(&json, "tid", tid);
	json_integer(&json, "number", number);
	json_address(&json, "addr", addr);
	json_address(&json, "ip", ip);
	line_close(&json);
}

void record_warning(struct buffer *out, const char *text,
		    const struct timespec *time)
{
	struct json json;

	line_open(&json, out, "warning");
	json_time(&json, "time", time);
	json_string(&json, "text", text);
	line_close(&json);
}
