/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/demangle.h"
#include "tracer/session.h"

/* More functions than these are not inlined into each other. */
enum { LINES_MAX = 16, NAMES_MAX = 1 << 16 };

/* What was looked up once: symbols cost 85 us and more, this a hash. */
struct named_ip {
	char *function; /* demangled; NULL: no symbol */
	uint64_t addr;
	const char *module;
	size_t count; /* of lines, at least 1 */
	struct {
		char *inlined; /* demangled; NULL in the last */
		const char *file;
		unsigned line;
	} lines[];
};

static void free_named(struct named_ip *named)
{
	for (size_t i = 0; i < named->count; i++)
		free(named->lines[i].inlined);
	free(named->function);
	free(named);
}

void frame_names_forget(struct session *session)
{
	table_for_each(&session->functions, s) free_named(s->value);
	table_done(&session->functions);
}

/* The compiler's suffixes (.cold, .part.0) stay in the name. */
static char *readable(const char *name)
{
	char *demangled = demangle(name);

	return demangled ? demangled : strdup(name);
}

static struct named_ip *new_named(struct symbols *symbols, uint64_t ip)
{
	struct line line[LINES_MAX];
	size_t count = symbols_lines(symbols, ip, line, LINES_MAX);
	struct named_ip *named;

	if (!count) {
		line[0] = (struct line){ 0 };
		count = 1;
	}
	named = calloc(1, sizeof(*named) + count * sizeof(named->lines[0]));
	if (!named)
		return NULL;
	named->count = count;
	for (size_t i = 0; i < count; i++) {
		named->lines[i].file = line[i].file;
		named->lines[i].line = line[i].line;
		if (i + 1 < count)
			named->lines[i].inlined = readable(
				line[i].function ? line[i].function : "?");
	}
	return named;
}

static void name_jitted(struct session *session, uint64_t ip,
			struct named_ip *named)
{
	const struct jit_function *function =
		jitmap_at(&session->stacks.jitmap, session->process->pid, ip);

	if (!function)
		return;
	named->function = strdup(function->name);
	named->addr = function->start;
}

static struct named_ip *look_up(struct session *session, uint64_t ip)
{
	struct symbols *symbols = session->process->symbols;
	const struct module *module = symbols_module(symbols, ip);
	struct named_ip *named = new_named(symbols, ip);
	struct symbol symbol;

	if (!named)
		return NULL;
	named->module = module ? module->name : NULL;
	if (symbols_at(symbols, ip, &symbol) == 0) {
		named->function = readable(symbol.name);
		named->addr = symbol.addr;
	}
	if (!module)
		name_jitted(session, ip, named);
	if (session->functions.count >= NAMES_MAX ||
	    table_put(&session->functions, ip, named) < 0) {
		free_named(named);
		return NULL;
	}
	return named;
}

/*
 * A return address belongs to the call before it: it is looked up one byte
 * earlier, where the call still lies in its function.
 */
size_t frame_names(struct session *session, uint64_t ip, bool innermost,
		   struct event_frame *ret, size_t max)
{
	uint64_t look = innermost ? ip : ip - 1;
	struct named_ip *named = table_get(&session->functions, look);
	size_t n = 0;

	if (!named)
		named = look_up(session, look);
	for (; named && n < named->count && n < max; n++) {
		ret[n] = (struct event_frame){
			.ip = ip,
			.inlined = n + 1 < named->count,
			.function = named->lines[n].inlined,
			.module = named->module,
			.file = named->lines[n].file,
			.line = named->lines[n].line,
		};
		if (ret[n].inlined || !named->function)
			continue;
		ret[n].function = named->function;
		ret[n].offset = ip - named->addr;
	}
	if (!named && max)
		ret[n++] = (struct event_frame){ .ip = ip };
	return n;
}
