/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "tracer/component/frame.h"
#include "tracer/component/typed.h"
#include "tracer/process/demangle.h"

bool frame_of(const struct view *view, const struct query *query,
	      struct stack_place *ret)
{
	return query->place && view_on_stack(view, query) &&
	       query->place(query->context, query->addr, ret);
}

bool frame_local(const struct view *view, const struct query *query,
		 const struct stack_place *place, struct local *ret)
{
	/* What only looks like a frame may lie elsewhere. */
	return !place->guessed &&
	       symbols_local(view->world->symbols, place->ip,
			     (int64_t)(query->addr - place->cfa), ret);
}

static int open_frame(const struct view *view, void **ret)
{
	*ret = (void *)(uintptr_t)view;
	return 0;
}

static void close_frame(void *state)
{
}

/* The function, in whose frame all that is inlined in it lies, too. */
static bool name_function(const struct view *view,
			  const struct stack_place *place,
			  struct component *ret)
{
	_cleanup_(freep) char *text = NULL;
	struct symbol symbol;

	if (symbols_at(view->world->symbols, place->ip, &symbol) < 0)
		return false;
	text = demangle(symbol.name);
	component_name(ret, text ? text : symbol.name);
	return true;
}

static void add_variable(const struct view *view, const struct local *local,
			 const struct query *query,
			 const struct stack_place *place, struct component *ret)
{
	_cleanup_(freep) char *path = NULL;

	ret->how = "variable";
	ret->confidence = CONFIDENCE_EXACT;
	ret->start = place->cfa + (uint64_t)local->offset;
	ret->size = local->type->size;
	typed_member(view->pages, local->type, ret->start, query->addr, ret);
	if (asprintf(&path, "%s%s%s", local->name,
		     *ret->member && *ret->member != '[' ? "." : "",
		     ret->member) >= 0)
		snprintf(ret->member, sizeof(ret->member), "%s", path);
}

static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	const struct view *view = state;
	struct stack_place place;
	struct local local;

	if (!frame_of(view, query, &place) || !name_function(view, &place, ret))
		return;
	ret->kind = "stack";
	ret->runtime = "c";
	if (frame_local(view, query, &place, &local)) {
		add_variable(view, &local, query, &place, ret);
		return;
	}
	ret->how = "frame";
	ret->confidence = place.guessed ? CONFIDENCE_GUESS : CONFIDENCE_LIKELY;
	ret->start = place.start ? place.start : query->addr;
	ret->size = place.cfa - ret->start;
	snprintf(ret->member, sizeof(ret->member), "cfa-%" PRIu64,
		 place.cfa - query->addr);
}

const struct runtime runtime_frame = {
	.name = "frame",
	.open = open_frame,
	.close = close_frame,
	.resolve = resolve,
};
