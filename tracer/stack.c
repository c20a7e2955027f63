/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/ahead.h"
#include "tracer/process/demangle.h"

/* A name that was looked up once: symbols cost 85 us, this a hash. */
struct named_ip {
	char *function; /* demangled; NULL: no symbol */
	uint64_t addr;
	const char *module;
};

enum { NAMES_MAX = 1 << 16 };

void stack_forget(struct session *session)
{
	table_for_each(&session->functions, s)
	{
		struct named_ip *named = s->value;

		free(named->function);
		free(named);
	}
	table_done(&session->functions);
	session->unwinder_known = false;
}

static int update_modules(struct session *session)
{
	struct symbols *symbols = session->process->symbols;
	unsigned generation = symbols_generation(symbols);
	const struct module *const *module;
	size_t count = symbols_modules(symbols, &module);
	struct unwinder_module *table;
	int r;

	if (session->unwinder_known &&
	    session->unwinder_generation == generation)
		return 0;
	stack_forget(session);
	table = calloc(count + 1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		table[i] = (struct unwinder_module){
			.start = module[i]->start,
			.end = module[i]->end,
			.text_start = module[i]->text_start,
			.text_end = module[i]->text_end,
			.eh_frame_hdr = module[i]->eh_frame_hdr,
			.eh_frame_hdr_size = module[i]->eh_frame_hdr_size,
		};
	r = unwinder_modules(session->unwinder, table, count);
	free(table);
	session->unwinder_generation = generation;
	session->unwinder_known = r == 0;
	return r;
}

static struct named_ip *look_up(struct session *session, uint64_t ip)
{
	struct symbols *symbols = session->process->symbols;
	const struct module *module = symbols_module(symbols, ip);
	struct named_ip *named = calloc(1, sizeof(*named));
	struct symbol symbol;
	const char *name;

	if (!named)
		return NULL;
	named->module = module ? module->name : NULL;
	if (symbols_at(symbols, ip, &symbol) == 0) {
		/* The compiler's suffixes (.cold, .part.0) stay in the name. */
		named->function = demangle(symbol.name);
		name = named->function ? NULL : symbol.name;
		if (name)
			named->function = strdup(name);
		named->addr = symbol.addr;
	}
	if (session->functions.count >= NAMES_MAX ||
	    table_put(&session->functions, ip, named) < 0) {
		free(named->function);
		free(named);
		return NULL;
	}
	return named;
}

/*
 * A return address belongs to the call before it: it is looked up one byte
 * earlier, where the call still lies in its function.
 */
static void name_frame(struct session *session, uint64_t ip, bool innermost,
		       struct event_frame *frame)
{
	uint64_t look = innermost ? ip : ip - 1;
	struct named_ip *named = table_get(&session->functions, look);

	*frame = (struct event_frame){ .ip = ip };
	if (!named)
		named = look_up(session, look);
	if (!named)
		return;
	frame->module = named->module;
	frame->function = named->function;
	frame->offset = named->function ? ip - named->addr : 0;
}

unsigned stack_walk(struct session *session, struct thread *thread,
		    const struct user_regs_struct *regs,
		    struct event_frame frames[EVENT_FRAMES], const char **end)
{
	struct memory memory = session_memory(session);
	struct frame frame[EVENT_FRAMES];
	size_t count = 0;
	size_t max = min_u64(session->options->depth, EVENT_FRAMES);
	int r = process_remap(session->process);

	if (r == 0)
		r = update_modules(session);
	if (r == 0)
		r = unwinder_walk(session->unwinder, regs, &memory, frame, max,
				  &count);
	*end = r == UNWINDER_END_TRUNCATED ? "truncated"
	       : r == UNWINDER_END_BOTTOM  ? NULL
					   : "broken";
	for (size_t i = 0; i < count; i++)
		name_frame(session, frame[i].ip, i == 0, &frames[i]);
	return (unsigned)count;
}
