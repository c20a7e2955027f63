/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/component/cpython.h"

/*
 * Where the module re keeps what it may go back to, and groups: blocks of a
 * struct SRE_STATE, which lies on the stack of who matches, or in a scanner.
 * A state has no mark; it is one if it knows the size of its stack, and its
 * text begins within the object that it has for it.
 */

enum {
	STATE_STRING = 32,
	STATE_WORDS = 5,
	SPILLED = 128,	/* words of the stack that may point to it */
	FAR = 64 << 10, /* bytes: how far above it lies */
	AGAIN = 256,	/* accesses until one is looked for again */
	ROUNDING = 16,
	MINIMUM = 24,
};

/* Does its text lie in its string? */
static bool has_text(struct cpython *py, uint64_t state)
{
	struct py_object string;
	uint64_t word[STATE_WORDS]; /* now, first, start, end, string */

	if (!py_words(py, state, word, STATE_WORDS) ||
	    !py_object_at(py, word[STATE_STRING / 8], &string))
		return false;
	return string.size && word[1] > string.addr && word[1] <= word[3] &&
	       word[3] < string.addr + string.size && word[2] >= word[1] &&
	       word[2] <= word[3];
}

/* What of @state is the block; NULL: nothing. */
static const char *part_of(struct cpython *py, uint64_t state,
			   const struct py_block *block)
{
	uint64_t size = block->end - block->start, word[3], mark;

	if (state % 8 || !py_words(py, state + py->layout.sre_stack, word, 3) ||
	    !py_word(py, state + py->layout.sre_mark, &mark))
		return NULL;
	if (word[0] == block->start)
		return word[1] <= size && word[2] <= word[1] &&
				       (size - word[1] < ROUNDING ||
					size == MINIMUM) &&
				       has_text(py, state)
			       ? "data_stack"
			       : NULL;
	return mark == block->start && word[2] <= word[1] && has_text(py, state)
		       ? "mark"
		       : NULL;
}

static const char *by_register(struct cpython *py, const struct query *query,
			       const struct py_block *block, uint64_t *state)
{
	uint64_t word[SPILLED];
	const char *part = NULL;

	for (unsigned i = 0; query->registers && !part && i < 16; i++) {
		*state = query->registers[i];
		part = part_of(py, *state, block);
	}
	if (part || !py_words(py, query->sp & ~UINT64_C(7), word, SPILLED))
		return part;
	for (unsigned i = 0; !part && i < SPILLED; i++) {
		*state = word[i];
		if (*state >= query->sp && *state - query->sp < FAR)
			part = part_of(py, *state, block);
	}
	return part;
}

static const char *find(struct cpython *py, const struct query *query,
			const struct py_block *block)
{
	unsigned i = block->start / 16 % PY_STATES;
	const char *part = NULL;
	uint64_t state;

	if (py->sre[i].start == block->start) {
		if (py->sre[i].state)
			part = part_of(py, py->sre[i].state, block);
		else if (py->epoch - py->sre[i].epoch < AGAIN)
			return NULL;
	}
	if (part)
		return part;
	part = by_register(py, query, block, &state);
	py->sre[i].start = block->start;
	py->sre[i].state = part ? state : 0;
	py->sre[i].epoch = py->epoch;
	return part;
}

bool py_matching(struct cpython *py, const struct query *query,
		 const struct py_block *block, struct component *ret)
{
	const char *part;

	if (block->head)
		return false;
	part = find(py, query, block);
	if (!part)
		return false;
	ret->kind = "object";
	ret->runtime = "cpython";
	ret->how = "owner";
	ret->confidence = CONFIDENCE_LIKELY;
	ret->start = block->start;
	ret->size = block->end - block->start;
	component_name(ret, "SRE_STATE");
	snprintf(ret->member, sizeof(ret->member), "%s", part);
	return true;
}
