/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tracer/watch_member.h"

/* Of bases that have a member of the same name. */
enum { SAME_MEMBER = 16 };

bool member_cut(char *name)
{
	size_t end = strlen(name);
	unsigned depth = 0;

	while (end-- > 1) {
		if (strchr(">)}", name[end]))
			depth++;
		else if (strchr("<({", name[end]) && depth)
			depth--;
		else if (!depth && (name[end] == '.' || name[end] == '['))
			break;
	}
	if (end == 0 || end == (size_t)-1)
		return false;
	name[end] = '\0';
	return true;
}

static int want_extents(struct finder *finder, uint64_t start,
			const struct extent *extent, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count && i < SAME_MEMBER; i++) {
		uint64_t from = start + extent[i].offset;

		r = finder_want(finder, from,
				from + (extent[i].size ? extent[i].size : 1));
	}
	return r;
}

/* The members that there are, for who named another. */
static void list_members(struct type *type, char *text, size_t room)
{
	size_t used = 0;

	*text = '\0';
	if (!type_load(type))
		return;
	for (unsigned i = 0; i < type->fields && used < room / 2; i++)
		if (type->field[i].name && !type->field[i].vptr)
			used += snprintf(text + used, room - used, "%s%s",
					 used ? ", " : "; it has ",
					 type->field[i].name);
}

int member_of_symbol(struct finder *finder, const struct symbol *symbol,
		     const char *path)
{
	struct type *type = symbols_type(finder->process->symbols, symbol);
	struct component object = { .start = symbol->addr };
	struct extent extent[SAME_MEMBER];
	char names[512];
	size_t count;

	if (!type)
		return error_set(finder->err, -ENOENT,
				 "no debug information tells the members of "
				 "'%s': watch all of it, or 0x%" PRIx64 "+LEN",
				 symbol->name, symbol->addr);
	count = member_find(type, path, NULL, extent, SAME_MEMBER);
	/* A virtual base's place only the object tells. */
	if (!count)
		count = resolver_member(finder->resolver, &object,
					path + (*path == '.'), extent,
					SAME_MEMBER);
	if (count)
		return want_extents(finder, symbol->addr, extent, count);
	list_members(type, names, sizeof(names));
	return error_set(finder->err, -ENOENT, "'%s' has no member '%s'%s",
			 symbol->name, path + (*path == '.'), names);
}

int member_of_object(struct finder *finder, const struct component *object,
		     const char *path)
{
	struct extent extent[SAME_MEMBER];
	size_t count = resolver_member(finder->resolver, object, path, extent,
				       SAME_MEMBER);
	int r = want_extents(finder, object->start, extent, count);

	return r < 0 ? r : (int)min_u64(count, SAME_MEMBER);
}
