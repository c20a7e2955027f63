/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tracer/component/cpython.h"

/*
 * From 3.11 on the frames of functions lie in chunks of memory of the thread's
 * own (_PyStackChunk), each above its caller's; generators have theirs in them.
 * A chunk has no mark: it is one if a frame of the thread lies in it.
 */

enum {
	FRAME_HEAD = 72, /* until the variables */
	CHUNK_HEAD = 24, /* the chunk before, size, what is used of that */
	CHUNK_PAGES = 64,
	MAX_CHAIN = 64, /* frames that are looked at */
	MAX_SLOTS = 1 << 20,
	NEAR = 1 << 20, /* bytes: how far from the frame that runs */
};

struct chunk_place {
	uint64_t start, end;
	uint64_t frame; /* the nearest below the address; 0: none */
	bool sure;	/* a frame lies in it */
};

static bool find_chunk(const struct cpython *py, uint64_t addr,
		       struct chunk_place *ret)
{
	uint64_t at = page_down(addr), head[3];

	for (unsigned i = 0; i < CHUNK_PAGES && at >= PAGE; i++, at -= PAGE) {
		if (!py_words(py, at, head, 3))
			return false;
		if (head[1] <= addr - at || head[1] % PAGE ||
		    head[1] > CHUNK_PAGES * PAGE || head[0] % PAGE ||
		    head[2] > head[1] / 8)
			continue;
		*ret = (struct chunk_place){ at, at + head[1], 0, false };
		return addr >= at + CHUNK_HEAD;
	}
	return false;
}

static bool current_frame(struct cpython *py, uint64_t fs_base, uint64_t *frame)
{
	const struct py_layout *layout = &py->layout;
	uint64_t thread = py_thread(py, fs_base);

	if (!thread || !py_word(py, thread + layout->thread_frame, frame))
		return false;
	return layout->minor >= 13 ||
	       py_word(py, *frame + layout->cframe_frame, frame);
}

static void find_frame(struct cpython *py, const struct query *query,
		       uint64_t frame, struct chunk_place *place)
{
	for (unsigned i = 0; i < MAX_CHAIN && frame; i++) {
		if (frame >= place->start && frame < place->end)
			place->sure = true;
		if (frame >= place->start && frame <= query->addr)
			place->frame = frame;
		/* Its callers lie below it, those in this chunk. */
		if (place->frame ||
		    !py_word(py, frame + py->layout.back, &frame))
			return;
	}
}

/* How many words its variables, and what it computes with, take. */
static bool count_slots(const struct cpython *py, uint64_t code,
			uint32_t *variables, uint32_t *slots)
{
	uint32_t count[4]; /* stack, first line, variables, all from 3.12 on */

	if (!py_read(py, code + py->layout.co_first_line - 4, count,
		     sizeof(count)))
		return false;
	*variables = count[2];
	*slots = count[2] + count[0];
	return count[0] < MAX_SLOTS && count[2] < MAX_SLOTS;
}

static void name_slot(const struct cpython *py, uint64_t code, uint64_t i,
		      uint32_t variables, struct component *ret)
{
	uint64_t names = code + py->layout.co_filename - 16, name;

	if (i >= variables)
		snprintf(ret->member, sizeof(ret->member), "<stack>[%ju]",
			 (uintmax_t)(i - variables));
	else if (!py_word(py, names, &names) ||
		 !py_word(py, names + 24 + i * 8, &name) ||
		 !py_str(py, name, ret->member, sizeof(ret->member)))
		ret->member[0] = '\0';
}

static void name_head(const struct cpython *py, uint64_t offset,
		      struct component *ret)
{
	static const char *const name_11[] = {
		"f_func",    "f_globals", "f_builtins", "f_locals", "f_code",
		"frame_obj", "previous",  "prev_instr", "stacktop",
	};
	static const char *const name_12[] = {
		"f_code",    "previous",   "f_funcobj",
		"f_globals", "f_builtins", "f_locals",
		"frame_obj", "prev_instr", "stacktop",
	};
	const char *name = py->layout.minor == 11 ? name_11[offset / 8]
						  : name_12[offset / 8];

	if (py->layout.minor >= 13 && offset / 8 == 0)
		name = "f_executable";
	if (py->layout.minor >= 13 && offset / 8 == 7)
		name = "instr_ptr";
	if (offset >= py->layout.owner)
		name = "owner";
	else if (offset >= 68)
		name = py->layout.minor == 11 ? "is_entry" : "return_offset";
	snprintf(ret->member, sizeof(ret->member), "%s", name);
}

/* False: above what the function may use, a frame that is being made. */
static bool tell_frame(struct cpython *py, uint64_t frame, uint64_t addr,
		       struct component *ret)
{
	uint32_t variables, slots;
	const struct py_code *known;
	uint64_t code, offset = addr - frame;

	if (!py_word(py, frame + py->layout.code, &code))
		return false;
	known = py_code_at(py, code);
	if (!known || !count_slots(py, code, &variables, &slots) ||
	    offset >= FRAME_HEAD + slots * UINT64_C(8))
		return false;
	ret->start = frame;
	ret->size = FRAME_HEAD + slots * UINT64_C(8);
	ret->confidence = CONFIDENCE_EXACT;
	component_name(ret, known->function);
	if (offset < FRAME_HEAD)
		name_head(py, offset, ret);
	else
		name_slot(py, code, (offset - FRAME_HEAD) / 8, variables, ret);
	return true;
}

/*
 * One that is tidied up is the thread's no longer, but still whole; one that
 * is being made is only written to.
 */
static bool by_register(struct cpython *py, const struct query *query,
			const struct chunk_place *place, struct component *ret)
{
	for (unsigned i = 0; !query->write && i < query->ncandidates; i++) {
		uint64_t frame = query->candidates[i];

		if (frame % 8 || frame <= max_u64(place->start, place->frame) ||
		    frame > query->addr ||
		    !tell_frame(py, frame, query->addr, ret))
			continue;
		ret->confidence = CONFIDENCE_LIKELY;
		return true;
	}
	return false;
}

bool py_stack(struct cpython *py, const struct query *query,
	      struct component *ret)
{
	struct chunk_place place;
	uint64_t frame;

	/* Other memory is not to be searched for a chunk that it is not. */
	if (py->layout.minor < 11 || !py->runtime || !query->fs_base ||
	    !current_frame(py, query->fs_base, &frame) ||
	    query->addr + NEAR < frame || query->addr > frame + NEAR ||
	    !find_chunk(py, query->addr, &place))
		return false;
	find_frame(py, query, frame, &place);
	if (!place.sure)
		return false;
	ret->kind = "stack";
	ret->runtime = "cpython";
	ret->how = "frame";
	if ((place.frame && tell_frame(py, place.frame, query->addr, ret)) ||
	    by_register(py, query, &place, ret))
		return true;
	ret->start = place.start;
	ret->size = place.end - place.start;
	ret->confidence = CONFIDENCE_LIKELY;
	component_name(ret, "data stack");
	return true;
}
