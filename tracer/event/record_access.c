/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/event/line.h"
#include "tracer/event/memo.h"
#include "tracer/event/record.h"

/*
 * A value of the size of a register is shown as the number it is, anything
 * else (and whatever is not known to its end) as bytes.
 */
static void record_value(struct json *json, const char *key,
			 const struct event_access *access,
			 const uint8_t *bytes, uint32_t shown)
{
	uint64_t size = access->size;
	uint64_t value = 0;

	if (!bytes || shown == 0)
		return;
	if (shown == size && size <= 8 && (size & (size - 1)) == 0) {
		memcpy(&value, bytes, size);
		json_value(json, key, value, (unsigned)size);
	} else {
		json_hex(json, key, bytes, shown);
	}
}

static void record_values(struct json *json, const struct event_access *access)
{
	uint32_t shown = (uint32_t)min_u64(access->shown, EVENT_SHOWN);
	const uint8_t *new = access->op == EVENT_READ ? NULL : access->new;

	shown = (uint32_t)min_u64(shown, access->size);
	record_value(json, "old", access, access->old, shown);
	record_value(json, "new", access, new, shown);
	if (shown && shown < access->size && (access->old || new))
		json_bool(json, "cut", true);
}

static void record_by(struct json *json, const struct event_access *access)
{
	if (access->syscall) {
		json_word(json, "by", "kernel");
		json_string(json, "syscall", access->syscall);
	} else {
		json_word(json, "by", "user");
	}
	line_word(json, "how", access->how);
}

static void record_frame(struct json *json, const struct event_frame *frame)
{
	json_open(json, NULL);
	json_address(json, "ip", frame->ip);
	if (frame->function && *frame->function) {
		json_string(json, "function", frame->function);
		if (!frame->inlined && !frame->runtime)
			json_number(json, "offset", frame->offset);
	}
	if (frame->inlined)
		json_bool(json, "inlined", true);
	if (frame->guessed)
		json_bool(json, "guessed", true);
	line_word(json, "runtime", frame->runtime);
	line_text(json, "module", frame->module);
	line_text(json, "file", frame->file);
	if (frame->line)
		json_number(json, "line", frame->line);
	json_close(json);
}

void record_frames(struct buffer *out, const struct event_frame *frames,
		   size_t count, const char *end)
{
	/* something comes before in every record */
	struct json json = { .out = out, .comma = true };

	json_array(&json, "stack");
	for (size_t i = 0; i < count && i < EVENT_FRAMES; i++)
		record_frame(&json, &frames[i]);
	json_end(&json);
	line_text(&json, "stack_end", end);
}

void record_stack(struct buffer *out, const struct event_stack *stack)
{
	struct json json;

	line_open(&json, out, "stack");
	json_number(&json, "id", stack->id);
	json_integer(&json, "pid", stack->pid);
	buffer_append(out, stack->text->data, stack->text->size);
	line_close(&json);
}

/* The number of its record, or itself. */
static void record_stack_of(struct json *json, uint64_t id,
			    const struct buffer *text)
{
	if (id)
		json_number(json, "stack_id", id);
	if (text)
		buffer_append(json->out, text->data, text->size);
}

void record_sample(struct buffer *out, const struct event_sample *sample)
{
	struct json json;

	line_open(&json, out, "sample");
	json_time(&json, "time", &sample->time);
	json_integer(&json, "pid", sample->pid);
	json_integer(&json, "tid", sample->tid);
	line_text(&json, "comm", sample->comm);
	json_word(&json, "state", sample->state);
	record_stack_of(&json, sample->stack, sample->stack_text);
	line_close(&json);
}

static const char *op_name(enum event_op op)
{
	switch (op) {
	case EVENT_READ:
		return "read";
	case EVENT_WRITE:
		return "write";
	case EVENT_RW:
		break;
	}
	return "rw";
}

void record_access(struct buffer *out, const struct event_access *access,
		   struct record_memo *memo)
{
	struct json json;

	line_open(&json, out, "access");
	json_number(&json, "seq", access->seq);
	json_number(&json, "insn_seq", access->insn_seq);
	json_time(&json, "time", &access->time);
	memo_thread(memo, &json, access);
	json_word(&json, "op", op_name(access->op));
	json_address(&json, "addr", access->addr);
	json_number(&json, "size", access->size);
	if (access->count > 1)
		json_number(&json, "count", access->count);
	memo_instruction(memo, &json, access);
	record_values(&json, access);
	record_by(&json, access);
	memo_component(memo, &json, &access->component);
	record_stack_of(&json, access->stack, access->stack_text);
	line_close(&json);
}

void record_unexplained(struct buffer *out, pid_t pid, uint64_t addr,
			uint64_t size, const uint8_t *old, const uint8_t *new,
			const struct timespec *time)
{
	const struct event_access values = {
		.op = EVENT_WRITE,
		.size = size,
		.shown = (uint32_t)min_u64(size, EVENT_SHOWN),
		.old = old,
		.new = new,
	};
	struct json json;

	line_open(&json, out, "unexplained");
	json_time(&json, "time", time);
	json_integer(&json, "pid", pid);
	json_address(&json, "addr", addr);
	json_number(&json, "size", size);
	record_values(&json, &values);
	line_close(&json);
}
