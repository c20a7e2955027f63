/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/event/record.h"
#include "tracer/session.h"

enum {
	TEXTS_MAX = 1 << 15,
	TEXTS_BYTES = 1 << 25, /* of all of them */
};

/*
 * A stack that was met before.  Naming and formatting it costs ten times what
 * walking it does, so its text is kept.
 */
struct stack_text {
	uint64_t id; /* of its record in the log, or 0 */
	const char *end;
	struct buffer text;
	size_t count;
	uint64_t ip[]; /* only these and its end tell it from others */
};

static void free_text(struct stack_text *text)
{
	if (!text)
		return;
	buffer_done(&text->text);
	free(text);
}

void stack_texts_forget(struct stacks *stacks)
{
	table_for_each(&stacks->texts, s) free_text(s->value);
	table_done(&stacks->texts);
	stacks->text_bytes = 0;
	stacks->last.text = NULL;
}

static uint64_t hash_of(const struct frame *frames, size_t count)
{
	uint64_t hash = count;

	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ frames[i].ip) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

static bool is_same(const struct stack_text *text, const struct frame *frames,
		    size_t count, const char *end)
{
	if (text->count != count || text->end != end)
		return false;
	for (size_t i = 0; i < count; i++)
		if (text->ip[i] != frames[i].ip)
			return false;
	return true;
}

static void make_text(struct session *session, struct stack_text *text)
{
	struct event_frame frames[EVENT_FRAMES];
	size_t n = 0;

	for (size_t i = 0; i < text->count; i++)
		n += frame_names(session, text->ip[i], i == 0, &frames[n],
				 EVENT_FRAMES - n);
	record_frames(&text->text, frames, n, text->end);
	session->stacks.text_bytes += text->text.size;
}

static struct stack_text *new_text(struct session *session, uint64_t hash,
				   const struct frame *frames, size_t count,
				   const char *end)
{
	struct stacks *stacks = &session->stacks;
	struct stack_text *text =
		calloc(1, sizeof(*text) + count * sizeof(text->ip[0]));

	if (!text)
		return NULL;
	if (stacks->texts.count >= TEXTS_MAX ||
	    stacks->text_bytes >= TEXTS_BYTES)
		stack_texts_forget(stacks);
	/* another one with this hash is made anew when it is back */
	free_text(table_get(&stacks->texts, hash));
	table_remove(&stacks->texts, hash);
	text->end = end;
	text->count = count;
	for (size_t i = 0; i < count; i++)
		text->ip[i] = frames[i].ip;
	make_text(session, text);
	if (text->text.failed || table_put(&stacks->texts, hash, text) < 0) {
		free_text(text);
		return NULL;
	}
	return text;
}

static struct stack_text *find_text(struct session *session,
				    const struct frame *frames, size_t count,
				    const char *end)
{
	uint64_t hash = hash_of(frames, count);
	struct stack_text *text = table_get(&session->stacks.texts, hash);

	if (text && is_same(text, frames, count, end))
		return text;
	return new_text(session, hash, frames, count, end);
}

static void write_stack(struct session *session, pid_t pid,
			struct stack_text *text)
{
	struct event_stack stack = {
		.id = ++session->log->stacks,
		.pid = pid,
		.text = &text->text,
	};

	text->id = stack.id;
	record_stack(&session->log->buffer, &stack);
	log_line(session->log);
}

/*
 * A file can be looked up in, and 2 kB for each access take longer to write
 * than an access that is run ahead; who reads a pipe wants all in one line.
 */
static bool is_once(const struct session *session)
{
	enum stacks_form form = session->options->stacks_form;

	return form == STACKS_ONCE ||
	       (form == STACKS_BY_LOG && !session->log->direct);
}

static void tell(struct session *session, pid_t pid, struct stack_text *text,
		 uint64_t *id, const struct buffer **ret)
{
	if (!text)
		return;
	if (!is_once(session)) {
		*ret = &text->text;
		return;
	}
	if (!text->id)
		write_stack(session, pid, text);
	*id = text->id;
}

bool stack_tell_last(struct session *session, pid_t pid,
		     const struct user_regs_struct *regs, uint64_t *id,
		     const struct buffer **ret)
{
	struct stacks *stacks = &session->stacks;

	if (!stack_is_last(session, regs))
		return false;
	if (session->options->verify_stacks) {
		stacks->last.expected = stacks->last.text;
		return false;
	}
	stacks->others.stacks++;
	stacks->others.reused += stacks->last.frames;
	tell(session, pid, stacks->last.text, id, ret);
	return true;
}

void stack_tell(struct session *session, pid_t pid, const struct frame *frames,
		size_t count, const char *end, uint64_t *id,
		const struct buffer **ret)
{
	struct stacks *stacks = &session->stacks;
	struct stack_text *text = find_text(session, frames, count, end);

	stack_told(session, count ? frames->ip : 0);
	stacks->mismatches +=
		stacks->last.expected && text != stacks->last.expected;
	stacks->last.expected = NULL;
	stacks->last.text = stacks->last.slots ? text : NULL;
	tell(session, pid, text, id, ret);
}
