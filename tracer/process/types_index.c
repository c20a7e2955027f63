/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/spelling.h"
#include "tracer/process/types_index.h"

enum {
	MAX_NODES = 1 << 20,
	MAX_VARIABLES = 1 << 20,
	MAX_DIES = 1 << 23, /* looked at to find them all */
};

void index_free(struct index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->nodes; i++)
		free(index->node[i]);
	free(index->node);
	free(index->place);
	table_done(&index->children);
	table_done(&index->classes);
	table_done(&index->declared);
	free(index);
}

/* Room for one more in an array that grows by doubling. */
static bool make_room(void **array, size_t count, size_t size)
{
	void *bigger;

	if (count & (count - 1))
		return true;
	bigger = reallocarray(*array, count ? 2 * count : 1, size);
	if (bigger)
		*array = bigger;
	return bigger;
}

uint64_t index_last(const char *name)
{
	size_t length, start = spelling_last(name, &length);

	return table_hash(name + start, length);
}

/* The one that is called so there, or a new one; NULL: no room. */
static struct node *intern(struct index *index, struct node *parent,
			   const char *name, int kind)
{
	uint64_t key = table_hash(name, strlen(name)) ^ (uintptr_t)parent, last;
	struct node *first = table_get(&index->children, key), *node = first;

	while (node && (node->parent != parent || (int)node->kind != kind ||
			strcmp(node->name, name) != 0))
		node = node->next;
	if (node)
		return node;
	if (index->nodes == MAX_NODES ||
	    !make_room((void **)&index->node, index->nodes,
		       sizeof(struct node *)))
		return NULL;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	*node = (struct node){
		.parent = parent, .next = first, .name = name, .kind = kind
	};
	index->node[index->nodes++] = node;
	if (table_put(&index->children, key, node) < 0 || kind != CLASS)
		return node;
	last = index_last(name);
	node->same = table_get(&index->classes, last);
	return table_put(&index->classes, last, node) < 0 ? NULL : node;
}

/* Where it lies while the program runs; false: elsewhere, or not always. */
static bool locate(Dwarf_Die *die, struct place *ret)
{
	Dwarf_Attribute attribute, where;
	Dwarf_Addr addr;
	Dwarf_Op *op;
	size_t count;

	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &op, &count) != 0 || !count)
		return false;
	ret->die = *die;
	ret->thread = count == 2 && (op[1].atom == DW_OP_form_tls_address ||
				     op[1].atom == DW_OP_GNU_push_tls_address);
	if (count != 1 && !ret->thread)
		return false;
	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_const4u:
	case DW_OP_const8u:
		ret->addr = op->number;
		return ret->thread || op->atom == DW_OP_addr;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		if (dwarf_getlocation_attr(&attribute, op, &where) != 0 ||
		    dwarf_formaddr(&where, &addr) != 0)
			return false;
		ret->addr = addr;
		return true;
	default:
		return false;
	}
}

static void add_place(struct index *index, Dwarf_Die *die)
{
	struct place place;

	if (index->places == MAX_VARIABLES || !locate(die, &place) ||
	    !make_room((void **)&index->place, index->places, sizeof(place)))
		return;
	index->place[index->places++] = place;
}

static bool is_declaration(Dwarf_Die *die)
{
	return die_flag(die, DW_AT_declaration) ||
	       dwarf_hasattr(die, DW_AT_signature);
}

/*
 * false: it was seen before, so that there is nothing new in it.  Of lambdas
 * GCC tells no numbers: several may have one name.
 */
static bool define(struct index *index, struct node *node, Dwarf_Die *die)
{
	uint64_t size = 0, line = 0;

	if (is_declaration(die)) {
		(void)!table_put(&index->declared, (uintptr_t)die->addr, node);
		return !node->die.addr;
	}
	die_number(die, DW_AT_byte_size, &size);
	die_number(die, DW_AT_decl_line, &line);
	if (node->die.addr) {
		node->differs |= node->size != size || node->line != line ||
				 strstr(node->name, "<lambda");
		return false;
	}
	node->die = *die;
	node->size = size;
	node->line = line;
	return true;
}

/* A class that was declared elsewhere belongs there. */
static struct node *declared(const struct index *index, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die first;

	if (!dwarf_attr(die, DW_AT_specification, &attribute) ||
	    !dwarf_formref_die(&attribute, &first))
		return NULL;
	return table_get(&index->declared, (uintptr_t)first.addr);
}

const char *die_linkage(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(
		dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(
			die, DW_AT_MIPS_linkage_name, &attribute));
	return name;
}

/* What @die is called if it is of interest, and its kind. */
static const char *name_of(const struct index *index, Dwarf_Die *die, int *kind)
{
	const char *name = NULL;

	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		*kind = SPACE;
		name = dwarf_diename(die);
		return name ? name : ANONYMOUS;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		*kind = CLASS;
		return dwarf_diename(die);
	case DW_TAG_subprogram:
		*kind = FUNCTION;
		if (!index->functions)
			return NULL;
		name = die_linkage(die);
		if (!name)
			name = dwarf_diename(die);
		/* Clang names none that were inlined everywhere */
		return name ? name : UNNAMED;
	default:
		return NULL;
	}
}

static void look_into(struct index *index, Dwarf_Die *die, struct node *parent,
		      int depth)
{
	Dwarf_Die child;
	bool more = depth < MAX_DEPTH && die_child(die, &child);

	for (; more && index->left; more = die_next(&child)) {
		struct node *node;
		const char *name;
		int kind;

		index->left--;
		switch (dwarf_tag(&child)) {
		case DW_TAG_variable:
			add_place(index, &child);
			continue;
		case DW_TAG_lexical_block:
			look_into(index, &child, parent, depth + 1);
			continue;
		default:
			break;
		}
		name = name_of(index, &child, &kind);
		if (!name || (kind == FUNCTION && !dwarf_haschildren(&child)))
			continue;
		node = kind == CLASS ? declared(index, &child) : NULL;
		if (!node)
			node = intern(index, parent, name, kind);
		if (node && (kind != CLASS || define(index, node, &child)))
			look_into(index, &child, node, depth + 1);
	}
}

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread ? 1 : -1;
	return x->addr == y->addr ? 0 : x->addr < y->addr ? -1 : 1;
}

struct index *index_of(struct types *types, bool functions)
{
	struct index *index = types->index;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	if (index && (index->functions || !functions))
		return index;
	index_free(index);
	types->index = index = calloc(1, sizeof(*index));
	if (!index)
		return NULL;
	index->functions = functions;
	index->left = MAX_DIES;
	while (dwarf_get_units(types->dwarf, unit, &unit, NULL, NULL, &die,
			       NULL) == 0)
		look_into(index, &die, NULL, 0);
	if (index->places)
		qsort(index->place, index->places, sizeof(*index->place),
		      compare);
	return index;
}

static bool find_variable(struct types *types, const struct place *key,
			  bool functions, struct variable *ret)
{
	struct index *index = index_of(types, functions);
	size_t low = 0, high = index ? index->places : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&index->place[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* Of several, one whose type is known */
	for (; index && low < index->places; low++) {
		struct place *place = &index->place[low];

		if (compare(place, key) != 0)
			return false;
		ret->addr = place->addr;
		ret->type = types_type_of(types, &place->die);
		if (ret->type)
			return true;
	}
	return false;
}

bool types_variable(struct types *types, uint64_t addr, bool thread, bool local,
		    struct variable *ret)
{
	struct place key = { .addr = addr, .thread = thread };

	return find_variable(types, &key, false, ret) ||
	       (local && find_variable(types, &key, true, ret));
}

int types_variables(struct types *types,
		    int (*visit)(void *context,
				 const struct variable *variable),
		    void *context)
{
	struct index *index = index_of(types, false);
	int r = 0;

	for (size_t i = 0; index && r == 0 && i < index->places; i++) {
		struct place *place = &index->place[i];
		struct variable variable = { .addr = place->addr };

		if (place->thread)
			break;
		variable.type = types_type_of(types, &place->die);
		if (variable.type)
			r = visit(context, &variable);
	}
	return r;
}
