/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/stack_place.h"

enum { RED_ZONE = 128 };

static bool same_mapping(const struct maps *maps, uint64_t a, uint64_t b)
{
	const struct mapping *mapping = maps_find(maps, a);

	return mapping && mapping == maps_find(maps, b);
}

static bool find(struct session *session, const struct frame *frames,
		 size_t count, const struct user_regs_struct *regs,
		 uint64_t addr, struct stack_place *ret)
{
	uint64_t start = regs->rsp - RED_ZONE;

	for (size_t i = 0; i < count; i++) {
		uint64_t cfa = frames[i].cfa;

		/* Handlers and coroutines have stacks of their own. */
		if (!same_mapping(session->process->maps, start, addr))
			start = 0;
		if (cfa && addr >= start && addr < cfa &&
		    same_mapping(session->process->maps, cfa - 1, addr)) {
			*ret = (struct stack_place){
				.ip = frames[i].ip - (i > 0),
				.start = start,
				.cfa = cfa,
				.guessed = frames[i].guessed,
			};
			return true;
		}
		start = cfa;
	}
	return false;
}

static bool look(const struct stack_asker *asker, uint64_t addr,
		 struct stack_place *ret)
{
	/* Most is touched by the function that it belongs to. */
	static const size_t depth[] = { 1, 8, EVENT_FRAMES };
	struct frame frames[EVENT_FRAMES];

	for (size_t i = 0; i < ARRAY_SIZE(depth); i++) {
		size_t count = stack_first_frames(asker->session, asker->regs,
						  frames, depth[i]);

		if (find(asker->session, frames, count, asker->regs, addr, ret))
			return true;
		if (count < depth[i])
			break;
	}
	return false;
}

bool stack_place(void *context, uint64_t addr, struct stack_place *ret)
{
	struct stack_asker *asker = context;

	if (!asker->asked)
		asker->found = look(asker, addr, &asker->place);
	asker->asked = true;
	*ret = asker->place;
	return asker->found;
}
