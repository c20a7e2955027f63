/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/demangle.h"
#include "tracer/process/spelling.h"
#include "tracer/process/types_index.h"

enum {
	MAX_NAME_SIZE = 4096, /* of a qualified name */
	MAX_SAME = 1024,      /* classes of one unqualified name */
	MAX_METHODS = 16,     /* whose linkage names are tried */
};

static bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2);
}

/* Its name from the outermost on, in @text; false: too long. */
static bool qualify(const struct node *node, char *text, size_t room, int depth,
		    bool *brief)
{
	size_t used;

	*text = '\0';
	if (node->kind == FUNCTION && is_mangled(node->name)) {
		_cleanup_(freep) char *plain = demangle(node->name);

		/* A linkage name says all of it. */
		return snprintf(text, room, "%s", plain ? plain : node->name) <
		       (int)room;
	}
	*brief |= node->kind == FUNCTION;
	if (node->parent &&
	    (depth == MAX_DEPTH ||
	     !qualify(node->parent, text, room, depth + 1, brief)))
		return false;
	used = strlen(text);
	return snprintf(text + used, room - used, "%s%s", used ? "::" : "",
			node->name) < (int)(room - used);
}

/*
 * f(int)::Local -> f::Local, as where GCC tells of no linkage name; nor does
 * it number lambdas: {lambda()#1} -> {lambda()}.
 */
static void without_parameters(char *name)
{
	char *to = name, *open = NULL;
	unsigned depth = 0;

	for (char *at = name; *at; at++) {
		if (*at == '#' && at > name && at[-1] == ')') {
			at += strcspn(at, "}");
			if (!*at)
				break;
		}
		if (*at == '(' && !depth++)
			open = to;
		*to++ = *at;
		if (*at == ')' && depth && !--depth && open > name &&
		    open[-1] != ':' && at[1] == ':')
			to = open;
	}
	*to = '\0';
}

/* Of a function without a name only what is in it can be compared. */
static const char *after_function(const char *name)
{
	const char *at = name, *next;

	while ((next = strstr(at, ")::")))
		at = next + 1;
	return at;
}

static bool is_called(const struct node *node, const char *name)
{
	_cleanup_(freep) char *plain = NULL, *wanted = NULL;
	char text[MAX_NAME_SIZE], *inner;
	bool brief = false;

	if (!qualify(node, text, sizeof(text), 0, &brief))
		return false;
	plain = spelling_plain(text);
	if (!plain || (!brief && !strstr(plain, "{lambda")))
		return plain && !strcmp(plain, name);
	inner = strstr(plain, UNNAMED "::");
	if (inner)
		return !strcmp(inner + strlen(UNNAMED), after_function(name));
	wanted = strdup(name);
	if (!wanted)
		return false;
	without_parameters(wanted);
	without_parameters(plain);
	return !strcmp(plain, wanted);
}

/* Is @method, demangled, a function of the class @name? */
static bool is_of(const char *method, const char *name)
{
	_cleanup_(freep) char *text = demangle(method);
	_cleanup_(freep) char *plain = text ? spelling_plain(text) : NULL;
	size_t size = strlen(name);
	const char *rest;

	if (!plain || strncmp(plain, name, size) != 0 ||
	    strncmp(plain + size, "::", 2) != 0)
		return false;
	rest = plain + size + 2;
	return rest[strcspn(rest, "(:<")] == '(';
}

/*
 * Compilers write some arguments of templates (lambdas, enumerations) in ways
 * of their own; in the linkage names of methods all do as the ABI says.
 */
static bool has_methods_of(const struct node *node, const char *name)
{
	Dwarf_Die class = node->die, child;
	bool more = die_child(&class, &child);
	unsigned tried = 0;

	for (; more && tried < MAX_METHODS; more = die_next(&child)) {
		const char *linkage;

		if (dwarf_tag(&child) != DW_TAG_subprogram)
			continue;
		linkage = die_linkage(&child);
		if (!linkage)
			continue;
		if (is_of(linkage, name))
			return true;
		tried++;
	}
	return false;
}

/* The one class of that name; NULL: none, or they differ. */
static const struct node *only(const struct node *node, const char *name,
			       bool (*is)(const struct node *node,
					  const char *name))
{
	const struct node *found = NULL;
	unsigned left = MAX_SAME;

	for (; node && left; node = node->same, left--) {
		if (!node->die.addr || !is(node, name))
			continue;
		if (node->differs || (found && (found->size != node->size ||
						found->line != node->line)))
			return NULL;
		found = node;
	}
	return found;
}

static struct type *find_class(struct types *types, const char *name,
			       bool functions)
{
	struct index *index = index_of(types, functions);
	const struct node *first, *node;
	Dwarf_Die die;

	if (!index)
		return NULL;
	first = table_get(&index->classes, index_last(name));
	node = only(first, name, is_called);
	if (!node && strchr(name, '<'))
		node = only(first, name, has_methods_of);
	if (!node)
		return NULL;
	die = node->die;
	return types_of_die(types, &die);
}

struct type *types_class(struct types *types, const char *name)
{
	struct type *type = find_class(types, name, false);

	/* f()::Local */
	if (!type && (strstr(name, ")::") || !strncmp(name, "main::", 6)))
		type = find_class(types, name, true);
	return type;
}

char *type_qualified(struct type *type)
{
	struct entry *entry = (struct entry *)type;
	Dwarf_Die die = entry->die, first, *scope = NULL;
	Dwarf_Attribute attribute;
	char text[MAX_NAME_SIZE];
	size_t used = 0;
	int count;

	/* Where it was declared, if that is elsewhere */
	if (dwarf_attr(&die, DW_AT_specification, &attribute) &&
	    dwarf_formref_die(&attribute, &first))
		die = first;
	count = type->name ? dwarf_getscopes_die(&die, &scope) : 0;
	text[0] = '\0';
	for (int i = count; i-- > 0;) {
		const char *name;

		if (i && dwarf_tag(&scope[i]) != DW_TAG_namespace &&
		    dwarf_tag(&scope[i]) != DW_TAG_structure_type &&
		    dwarf_tag(&scope[i]) != DW_TAG_class_type)
			continue;
		name = dwarf_diename(&scope[i]);
		used += snprintf(text + used, sizeof(text) - used, "%s%s",
				 used ? "::" : "", name ? name : ANONYMOUS);
		if (used >= sizeof(text)) {
			free(scope);
			return NULL;
		}
	}
	free(scope);
	return used ? spelling_plain(text) : NULL;
}
