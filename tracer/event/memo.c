/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/event/line.h"
#include "tracer/event/memo.h"

static bool equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void part_done(struct record_part *part)
{
	free(part->word);
	free(part->more);
	buffer_done(&part->text);
	*part = (struct record_part){ 0 };
}

void record_memo_done(struct record_memo *memo)
{
	part_done(&memo->thread);
	part_done(&memo->instruction);
	part_done(&memo->component);
}

static bool holds(const struct record_part *part, const char *word,
		  const char *more)
{
	return part->text.size && !part->text.failed &&
	       equal(part->word, word) && equal(part->more, more);
}

/* For these strings @part is to be made. */
static struct json begin(struct record_part *part, const char *word,
			 const char *more)
{
	part_done(part);
	part->word = word ? strdup(word) : NULL;
	part->more = more ? strdup(more) : NULL;
	return (struct json){ .out = &part->text, .comma = true };
}

/* Its text from @from to @to. */
static void append(struct record_part *part, struct json *json, size_t from,
		   size_t to)
{
	json->out->failed |= part->text.failed;
	if (!part->text.failed)
		buffer_append(json->out, part->text.data + from, to - from);
	json->comma = true;
}

void memo_thread(struct record_memo *memo, struct json *json,
		 const struct event_access *access)
{
	struct record_part *part = &memo->thread;

	if (memo->pid != access->pid || memo->tid != access->tid ||
	    !holds(part, access->comm, NULL)) {
		struct json made = begin(part, access->comm, NULL);

		memo->pid = access->pid;
		memo->tid = access->tid;
		json_integer(&made, "pid", access->pid);
		json_integer(&made, "tid", access->tid);
		line_text(&made, "comm", access->comm);
	}
	append(part, json, 0, part->text.size);
}

void memo_instruction(struct record_memo *memo, struct json *json,
		      const struct event_access *access)
{
	enum { INSTRUCTION_MAX = 15 };
	struct record_part *part = &memo->instruction;

	if (!access->insn) {
		json_address(json, "ip", access->ip);
		if (access->bytes && access->nbytes)
			json_hex(json, "bytes", access->bytes,
				 min_u64(access->nbytes, INSTRUCTION_MAX));
		return;
	}
	if (memo->ip != access->ip || !holds(part, access->insn, NULL)) {
		struct json made = begin(part, access->insn, NULL);

		memo->ip = access->ip;
		json_address(&made, "ip", access->ip);
		json_string(&made, "insn", access->insn);
	}
	append(part, json, 0, part->text.size);
}

/* Of words of our own the same pointer is the same word. */
static bool is_like(const struct event_component *a,
		    const struct event_component *b)
{
	return a->start == b->start && a->size == b->size &&
	       a->kind == b->kind && a->runtime == b->runtime &&
	       a->how == b->how && a->confidence == b->confidence;
}

/* All but the offset, which stands in the middle. */
static void make_component(struct record_memo *memo,
			   const struct event_component *component)
{
	struct record_part *part = &memo->component;
	struct json made = begin(part, component->name, component->member);

	memo->like = *component;
	json_open(&made, "component");
	json_word(&made, "kind", component->kind);
	line_word(&made, "runtime", component->runtime);
	line_text(&made, line_name_key(component->kind), component->name);
	line_text(&made, "member", component->member);
	if (component->start) {
		json_address(&made, "start", component->start);
		buffer_string(&part->text, ",\"offset\":");
	}
	memo->offset = part->text.size;
	if (component->size)
		json_number(&made, "size", component->size);
	line_word(&made, "how", component->how);
	line_word(&made, "confidence", component->confidence);
	json_close(&made);
}

void memo_component(struct record_memo *memo, struct json *json,
		    const struct event_component *component)
{
	struct record_part *part = &memo->component;

	if (!component->kind || !*component->kind)
		return;
	if (!is_like(&memo->like, component) ||
	    !holds(part, component->name, component->member))
		make_component(memo, component);
	append(part, json, 0, memo->offset);
	if (component->start) {
		json->comma = false;
		json_number(json, NULL, component->offset);
	}
	append(part, json, memo->offset, part->text.size);
}
