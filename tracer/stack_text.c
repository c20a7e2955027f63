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
	size_t count;	/* of native frames */
	size_t managed; /* of those of runtimes */
	/* Only this and its end tell it from others: see fill_key(). */
	uint64_t key[];
};

enum { KEY_MANAGED = 3 }; /* words of a managed frame */

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

/* A call stack as it is to be told. */
struct chain {
	const struct frame *frames;
	size_t count;
	const struct managed *managed; /* NULL: none */
	size_t nmanaged;
	const char *end;
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Of addresses the highest bit is the kernel's. */
static uint64_t frame_key(const struct frame *frame)
{
	return frame->ip | (uint64_t)frame->guessed << 63;
}

static uint64_t hash_of(const struct chain *chain)
{
	uint64_t hash = chain->count;

	for (size_t i = 0; i < chain->count; i++)
		hash = mix(hash, frame_key(&chain->frames[i]));
	for (size_t i = 0; i < chain->nmanaged; i++)
		hash = mix(hash, chain->managed->frame[i].id);
	return hash;
}

static void fill_key(uint64_t *key, const struct chain *chain)
{
	for (size_t i = 0; i < chain->count; i++)
		*key++ = frame_key(&chain->frames[i]);
	for (size_t i = 0; i < chain->nmanaged; i++) {
		const struct managed_frame *m = &chain->managed->frame[i];

		*key++ = m->id;
		*key++ = m->before << 1 | m->inlined;
		*key++ = m->ip;
	}
}

static bool is_same(const struct stack_text *text, const struct chain *chain)
{
	const uint64_t *key = text->key;

	if (text->count != chain->count || text->managed != chain->nmanaged ||
	    text->end != chain->end)
		return false;
	for (size_t i = 0; i < chain->count; i++)
		if (*key++ != frame_key(&chain->frames[i]))
			return false;
	for (size_t i = 0; i < chain->nmanaged; i++, key += KEY_MANAGED) {
		const struct managed_frame *m = &chain->managed->frame[i];

		if (key[0] != m->id ||
		    key[1] != (m->before << 1 | m->inlined) || key[2] != m->ip)
			return false;
	}
	return true;
}

/* The managed frames inside of native frame @before, from *@next on. */
static size_t add_managed(const struct chain *chain, size_t before,
			  size_t *next, struct event_frame *ret, size_t max)
{
	size_t n = 0;

	for (; *next < chain->nmanaged && n < max; (*next)++) {
		const struct managed_frame *m = &chain->managed->frame[*next];
		bool inside = before < chain->count;

		if (m->before > before)
			break;
		ret[n++] = (struct event_frame){
			.ip = m->ip || !inside ? m->ip
					       : chain->frames[before].ip,
			.function = m->function,
			.inlined = m->inlined,
			.guessed = m->guessed,
			.runtime = m->runtime,
			.file = m->file,
			.line = m->line,
		};
	}
	return n;
}

/*
 * A native frame with what stands inside of it: functions that the compiler
 * inlined there are called by those that a runtime runs.
 */
static size_t add_native(struct session *session, const struct chain *chain,
			 size_t i, size_t *next, struct event_frame *ret,
			 size_t max)
{
	size_t n = frame_names(session, chain->frames[i].ip, i == 0, ret, max);
	struct event_frame outer;
	size_t first = *next;

	if (n)
		ret[n - 1].guessed = chain->frames[i].guessed;
	if (!n || *next >= chain->nmanaged)
		return n;
	outer = ret[--n];
	n += add_managed(chain, i, next, &ret[n], max - n - 1);
	if (*next > first && chain->managed->frame[*next - 1].whole)
		ret[n - 1].guessed |= outer.guessed;
	else
		ret[n++] = outer;
	return n;
}

static void make_text(struct session *session, const struct chain *chain,
		      struct stack_text *text)
{
	bool cut = chain->managed && chain->managed->cut;
	struct event_frame frames[EVENT_FRAMES];
	size_t n = 0, next = 0;

	for (size_t i = 0; i < chain->count; i++)
		n += add_native(session, chain, i, &next, &frames[n],
				EVENT_FRAMES - n);
	n += add_managed(chain, chain->count, &next, &frames[n],
			 EVENT_FRAMES - n);
	cut |= next < chain->nmanaged;
	record_frames(&text->text, frames, n, cut ? "truncated" : chain->end);
	session->stacks.text_bytes += text->text.size;
}

static struct stack_text *new_text(struct session *session, uint64_t hash,
				   const struct chain *chain)
{
	struct stacks *stacks = &session->stacks;
	size_t words = chain->count + KEY_MANAGED * chain->nmanaged;
	struct stack_text *text =
		calloc(1, sizeof(*text) + words * sizeof(text->key[0]));

	if (!text)
		return NULL;
	if (stacks->texts.count >= TEXTS_MAX ||
	    stacks->text_bytes >= TEXTS_BYTES)
		stack_texts_forget(stacks);
	/* another one with this hash is made anew when it is back */
	free_text(table_get(&stacks->texts, hash));
	table_remove(&stacks->texts, hash);
	text->end = chain->end;
	text->count = chain->count;
	text->managed = chain->nmanaged;
	fill_key(text->key, chain);
	make_text(session, chain, text);
	if (text->text.failed || table_put(&stacks->texts, hash, text) < 0) {
		free_text(text);
		return NULL;
	}
	return text;
}

static struct stack_text *find_text(struct session *session,
				    const struct chain *chain)
{
	uint64_t hash = hash_of(chain);
	struct stack_text *text = table_get(&session->stacks.texts, hash);

	if (text && is_same(text, chain))
		return text;
	return new_text(session, hash, chain);
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
	const struct chain chain = {
		.frames = frames,
		.count = count,
		.managed = stacks->managed,
		.nmanaged = stacks->managed ? stacks->managed->count : 0,
		.end = end,
	};
	struct stack_text *text = find_text(session, &chain);

	stack_told(session, count ? frames->ip : 0);
	stacks->mismatches +=
		stacks->last.expected && text != stacks->last.expected;
	stacks->last.expected = NULL;
	stacks->last.text = stacks->last.slots ? text : NULL;
	tell(session, pid, text, id, ret);
}
