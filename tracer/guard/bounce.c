/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/guard/bounce.h"

#include <errno.h>
#include <string.h>

#include "tracer/guard/layout.h"

static int read_spans(struct bounce *bounce, const struct memory *memory)
{
	unsigned i;

	for (i = 0; i < bounce->spans; i++) {
		struct bounce_span *span = &bounce->span[i];
		int r;

		span->image = malloc(span->size);
		if (!span->image)
			return -ENOMEM;
		r = memory_read(memory, span->addr, span->image, span->size);
		if (r < 0)
			return r;
	}

	return 0;
}

static void place_buffers(struct bounce *bounce, uint64_t set)
{
	unsigned i, k;

	for (i = 0; i < bounce->plan.count; i++) {
		uint64_t addr = bounce->plan.buffer[i].addr;

		if (!(set & layout_bit(i)))
			continue;
		for (k = 0; k < bounce->spans; k++) {
			const struct bounce_span *span = &bounce->span[k];

			if (addr < span->addr ||
			    addr - span->addr >= span->size)
				continue;
			bounce->moved[i] = span->room + (addr - span->addr);
			bounce->before[i] = span->image + (addr - span->addr);
		}
	}
}

/* Do the bytes of a buffer that we moved hold the pointer to @i? */
static bool has_pointer(const struct bounce *bounce, unsigned i)
{
	const struct buffer_use *use = &bounce->plan.buffer[i];

	return bounce->moved[i] && use->parent >= 0 &&
	       (uint64_t)use->place + sizeof(uint64_t) <=
		       bounce->plan.buffer[use->parent].size;
}

static void patch(struct bounce *bounce)
{
	unsigned i;

	for (i = 0; i < bounce->plan.count; i++) {
		const struct buffer_use *use = &bounce->plan.buffer[i];

		if (has_pointer(bounce, i))
			memcpy(bounce->before[use->parent] + use->place,
			       &bounce->moved[i], sizeof(uint64_t));
		else if (bounce->moved[i] && use->parent < 0)
			bounce->args[use->place] = bounce->moved[i];
	}
}

static int fill_room(struct bounce *bounce, const struct memory *memory)
{
	unsigned i;

	for (i = 0; i < bounce->spans; i++) {
		const struct bounce_span *span = &bounce->span[i];
		int r = memory_write(memory, span->room, span->image,
				     span->size);

		if (r < 0)
			return r;
	}

	return 0;
}

int bounce_begin(struct bounce *bounce, const struct call *call,
		 const struct call_plan *plan, uint64_t room,
		 bool (*guarded)(void *, uint64_t, uint64_t), void *context,
		 const struct memory *memory)
{
	uint64_t set = layout_choose(plan, guarded, context);
	int r;

	memset(bounce, 0, sizeof(*bounce));
	bounce->plan = *plan;
	memcpy(bounce->args, call->args, sizeof(bounce->args));
	bounce->spans = layout_spans(plan, set, bounce->span);
	layout_place(bounce, room);

	r = read_spans(bounce, memory);
	if (r >= 0) {
		place_buffers(bounce, set);
		patch(bounce);
		r = fill_room(bounce, memory);
	}
	if (r < 0) {
		bounce_done(bounce);
		memcpy(bounce->args, call->args, sizeof(bounce->args));
	}

	return r < 0 ? r : 0;
}

/* One buffer while it is brought back. */
struct ending {
	const struct bounce *bounce;
	const struct memory *memory;
	int64_t result;
	unsigned index;
	const struct buffer_use *use;
	const uint8_t *before, *after;
	uint64_t known;	      /* bytes that the kernel says it used */
	uint64_t first, last; /* changed ones lie from first to before last */
};

/* The length that the kernel left for a buffer of WRITTEN_LENGTH. */
static int read_length(const struct ending *end, uint64_t *ret)
{
	const struct bounce *bounce = end->bounce;
	int counter = end->use->counter;
	uint64_t addr;
	uint32_t length;
	int r;

	addr = bounce->moved[counter] ? bounce->moved[counter]
				      : bounce->plan.buffer[counter].addr;
	r = memory_read(end->memory, addr + end->use->counter_place, &length,
			sizeof(length));
	if (r < 0)
		return r;
	*ret = call_share(&bounce->plan, end->index,
			  (uint64_t)length * end->use->unit);

	return 0;
}

static int find_known(struct ending *end)
{
	uint64_t most =
		call_written(&end->bounce->plan, end->index, end->result);

	end->known = 0;
	switch ((enum written)end->use->written) {
	case WRITTEN_COMPARE:
		return 0;
	case WRITTEN_RESULT:
	case WRITTEN_FITS:
	case WRITTEN_WHOLE:
		end->known = most;
		return 0;
	case WRITTEN_LENGTH:
		return most ? read_length(end, &end->known) : 0;
	}

	return 0;
}

static void find_changed(struct ending *end)
{
	uint64_t size = end->use->size;

	end->first = 0;
	end->last = 0;
	if (!memcmp(end->before, end->after, size))
		return;
	while (end->before[end->first] == end->after[end->first])
		end->first++;
	end->last = size;
	while (end->before[end->last - 1] == end->after[end->last - 1])
		end->last--;
}

/*
 * What the kernel says it wrote is written whole, as it was; of the rest only
 * what changed: other threads may have written beside it meanwhile.
 */
static int bring_back(const struct ending *end)
{
	uint64_t addr = end->use->addr;
	uint64_t at = end->known, start;
	int r = 0, error = 0;

	if (at)
		error = memory_write(end->memory, addr, end->after, at);

	for (at = max_u64(at, end->first); at < end->last; at++) {
		start = at;
		while (at < end->last && end->before[at] != end->after[at])
			at++;
		if (at == start)
			continue;
		r = memory_write(end->memory, addr + start, end->after + start,
				 at - start);
		error = first_error(error, r);
	}

	return error;
}

/* Put the program's own pointer to @child where a word at @at holds ours. */
static void show_pointer(const struct buffer_use *child, uint64_t at,
			 uint64_t start, uint32_t size, uint8_t *ret)
{
	uint64_t word = child->addr;
	unsigned k;

	for (k = 0; k < sizeof(word); k++) {
		uint64_t place = at + k - start;

		if (place < size)
			ret[place] = (uint8_t)(word >> (8 * k));
	}
}

/*
 * Copy @size bytes from @offset of the buffer as the program sees them: with
 * its own pointers where we put ours, for this buffer or for one that shares
 * bytes with it, and hence the span that @bytes is in.
 */
static void show(const struct ending *end, const uint8_t *bytes,
		 uint64_t offset, uint32_t size, uint8_t *ret)
{
	const struct bounce *bounce = end->bounce;
	uint64_t start = end->use->addr + offset;
	unsigned i;

	memcpy(ret, bytes + offset, size);
	for (i = 0; i < bounce->plan.count; i++) {
		const struct buffer_use *child = &bounce->plan.buffer[i];
		uint64_t at;

		if (!has_pointer(bounce, i))
			continue;
		at = bounce->plan.buffer[child->parent].addr + child->place;
		if (at >= start + size || start >= at + sizeof(uint64_t))
			continue;
		if (!memcmp(bytes + (int64_t)(at - end->use->addr),
			    &bounce->moved[i], sizeof(uint64_t)))
			show_pointer(child, at, start, size, ret);
	}
}

/* A call that failed so did not look at its arguments, or will do so again. */
static bool ignored(int64_t result)
{
	enum {
		RESTARTSYS = 512,
		RESTARTNOHAND = 514,
	};

	return result == -EFAULT || result == -ENOSYS ||
	       (result <= -RESTARTSYS && result >= -RESTARTNOHAND);
}

/* The part of the buffer that was read or written; false: none. */
static bool find_use(const struct ending *end, struct bounce_use *ret)
{
	const struct buffer_use *use = end->use;
	bool counted = use->written == WRITTEN_RESULT ||
		       use->written == WRITTEN_LENGTH;
	uint64_t from = 0, to = 0;

	ret->direction = 0;
	if (use->direction & BUFFER_OUT) {
		from = end->known ? 0 : end->first;
		to = max_u64(end->known, end->last);
		if (to > from)
			ret->direction |= BUFFER_OUT;
	}
	if (use->direction & BUFFER_IN) {
		uint64_t size = use->size;

		if (counted)
			size = end->known;
		else if (ignored(end->result))
			size = 0;
		if (size) {
			from = 0;
			to = max_u64(to, size);
			ret->direction |= BUFFER_IN;
		}
	}

	ret->addr = use->addr + from;
	ret->size = to - from;
	ret->shown = (uint32_t)min_u64(ret->size, sizeof(ret->old));
	if (!ret->direction)
		return false;
	show(end, end->before, from, ret->shown, ret->old);
	show(end, end->after, from, ret->shown, ret->new);

	return true;
}

static int read_room(struct bounce *bounce, const struct memory *memory)
{
	unsigned i;

	for (i = 0; i < bounce->spans; i++) {
		struct bounce_span *span = &bounce->span[i];
		int r;

		if (!span->after)
			span->after = malloc(span->size);
		if (!span->after)
			return -ENOMEM;
		r = memory_read(memory, span->room, span->after, span->size);
		if (r < 0)
			return r;
	}

	return 0;
}

/* What the room holds now of buffer @i. */
static const uint8_t *after(const struct bounce *bounce, unsigned i)
{
	unsigned k;

	for (k = 0; k < bounce->spans; k++) {
		const struct bounce_span *span = &bounce->span[k];

		if (bounce->moved[i] - span->room < span->size)
			return span->after + (bounce->moved[i] - span->room);
	}

	return NULL;
}

int bounce_end(struct bounce *bounce, int64_t result,
	       const struct memory *memory,
	       bool (*guarded)(void *, uint64_t, uint64_t), void *context,
	       struct bounce_use uses[CALL_BUFFERS], unsigned *count)
{
	unsigned i;
	int r, error;

	*count = 0;
	error = read_room(bounce, memory);
	if (error < 0)
		return error;

	for (i = 0; i < bounce->plan.count; i++) {
		struct ending end = {
			.bounce = bounce,
			.memory = memory,
			.result = result,
			.index = i,
			.use = &bounce->plan.buffer[i],
			.before = bounce->before[i],
		};
		struct bounce_use *use = &uses[*count];

		if (!bounce->moved[i])
			continue;
		end.after = after(bounce, i);
		error = first_error(error, find_known(&end));
		find_changed(&end);
		if (end.use->direction & BUFFER_OUT) {
			r = bring_back(&end);
			error = first_error(error, r);
		}
		if (find_use(&end, use) &&
		    guarded(context, use->addr, use->size))
			(*count)++;
	}

	return error;
}

void bounce_done(struct bounce *bounce)
{
	unsigned i;

	for (i = 0; i < bounce->spans; i++) {
		free(bounce->span[i].image);
		free(bounce->span[i].after);
	}
	bounce->spans = 0;
	memset(bounce->moved, 0, sizeof(bounce->moved));
	memset(bounce->before, 0, sizeof(bounce->before));
}
