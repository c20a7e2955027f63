/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/locals.h"
#include "tracer/process/scopes.h"
#include "tracer/process/types_private.h"

enum {
	MAX_LOCALS = 256,	/* of an instruction */
	MAX_CHILDREN = 1 << 14, /* of a scope */
	MAX_SCOPES = 256,
	MAX_KNOWN = 1 << 14, /* instructions */
};

/* Those of one instruction, the innermost scope first. */
struct scope_locals {
	size_t count;
	struct local local[];
};

struct locals {
	struct table known; /* an address -> struct scope_locals */
	Dwarf_CFI *eh_frame, *debug_frame;
};

static void forget(struct locals *locals)
{
	table_for_each(&locals->known, slot) free(slot->value);
	table_done(&locals->known);
}

void locals_free(struct locals *locals)
{
	if (!locals)
		return;
	forget(locals);
	dwarf_cfi_end(locals->eh_frame);
	free(locals);
}

/* A separate debug file has no .eh_frame. */
static struct locals *locals_of(struct types *types)
{
	struct locals *locals = types->locals;

	if (locals)
		return locals;
	locals = types->locals = calloc(1, sizeof(*locals));
	if (!locals)
		return NULL;
	locals->eh_frame = dwarf_getcfi_elf(dwarf_getelf(types->dwarf));
	locals->debug_frame = dwarf_getcfi(types->dwarf);
	return locals;
}

/* What the search for those of one instruction knows. */
struct search {
	struct types *types;
	Dwarf_Addr addr;
	Dwarf_Die *function;
	Dwarf_CFI *cfi[2];
	struct local local[MAX_LOCALS];
	size_t count;
};

/* @ret = the register of DWARF's number @number and a sum, by an expression. */
static bool is_sum(const Dwarf_Op *op, Dwarf_Word *number, int64_t *ret)
{
	if (op->atom == DW_OP_bregx) {
		*number = op->number;
		*ret = (int64_t)op->number2;
		return true;
	}
	*number = op->atom - (Dwarf_Word)DW_OP_breg0;
	*ret = (int64_t)op->number;
	return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;
}

/* The place @offset from what a register holds, from the CFA. */
static bool from_register(const struct search *search, Dwarf_Word number,
			  int64_t offset, int64_t *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(search->cfi); i++) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Word base;
		Dwarf_Op *op;
		size_t count;
		int64_t sum;
		bool known;

		if (!search->cfi[i] ||
		    dwarf_cfi_addrframe(search->cfi[i], search->addr, &frame))
			continue;
		known = dwarf_frame_cfa(frame, &op, &count) == 0 &&
			count == 1 && is_sum(op, &base, &sum) &&
			base == number &&
			!__builtin_sub_overflow(offset, sum, ret);
		free(frame);
		if (known)
			return true;
	}
	return false;
}

/* Of what @key of @die says of the instruction, the one operation. */
static const Dwarf_Op *operation(const struct search *search, Dwarf_Die *die,
				 unsigned key)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *op;
	size_t count;

	if (!dwarf_attr_integrate(die, key, &attribute) ||
	    dwarf_getlocation_addr(&attribute, search->addr, &op, &count, 1) !=
		    1 ||
	    count != 1)
		return NULL;
	return op;
}

/* What DW_OP_fbreg counts from, with @offset. */
static bool from_frame_base(const struct search *search, int64_t offset,
			    int64_t *ret)
{
	const Dwarf_Op *op =
		operation(search, search->function, DW_AT_frame_base);
	Dwarf_Word number;
	int64_t sum;

	if (!op)
		return false;
	if (op->atom == DW_OP_call_frame_cfa) {
		*ret = offset;
		return true;
	}
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return from_register(search, op->atom - (Dwarf_Word)DW_OP_reg0,
				     offset, ret);
	return is_sum(op, &number, &sum) &&
	       !__builtin_add_overflow(offset, sum, &sum) &&
	       from_register(search, number, sum, ret);
}

static void add_local(struct search *search, Dwarf_Die *die)
{
	const Dwarf_Op *op = operation(search, die, DW_AT_location);
	struct local *local = &search->local[search->count];
	Dwarf_Word number;
	int64_t offset;

	*local = (struct local){ .name = dwarf_diename(die) };
	if (!op || !local->name)
		return;
	if (op->atom == DW_OP_fbreg) {
		if (!from_frame_base(search, (int64_t)op->number,
				     &local->offset))
			return;
	} else if (!is_sum(op, &number, &offset) ||
		   !from_register(search, number, offset, &local->offset)) {
		return;
	}
	local->type = types_type_of(search->types, die);
	search->count += local->type && local->type->size;
}

static void add_scope(struct search *search, Dwarf_Die *scope)
{
	Dwarf_Die child;
	bool more = die_child(scope, &child);

	for (int i = 0; more && i < MAX_CHILDREN; i++) {
		int tag = dwarf_tag(&child);

		if (search->count == MAX_LOCALS)
			return;
		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			add_local(search, &child);
		more = die_next(&child);
	}
}

static void add_all(struct search *search)
{
	Dwarf_Die unit, *scopes = NULL;
	int count = 0, end = 0;

	if (scopes_unit(search->types->dwarf, search->addr, &unit))
		count = scopes_at(&unit, search->addr, &scopes);
	while (end < count && end < MAX_SCOPES &&
	       dwarf_tag(&scopes[end]) != DW_TAG_subprogram)
		end++;
	if (end < count && end < MAX_SCOPES) {
		search->function = &scopes[end];
		for (int i = 0; i <= end; i++)
			add_scope(search, &scopes[i]);
	}
	free(scopes);
}

static const struct scope_locals *look_up(struct types *types,
					  struct locals *locals, uint64_t addr)
{
	struct search search = {
		.types = types,
		.addr = addr,
		.cfi = { locals->eh_frame, locals->debug_frame },
	};
	struct scope_locals *found;

	add_all(&search);
	found = malloc(sizeof(*found) + search.count * sizeof(struct local));
	if (!found)
		return NULL;
	found->count = search.count;
	memcpy(found->local, search.local, search.count * sizeof(struct local));
	if (locals->known.count >= MAX_KNOWN)
		forget(locals);
	if (table_put(&locals->known, addr, found) == 0)
		return found;
	free(found);
	return NULL;
}

bool locals_at(struct types *types, uint64_t addr, int64_t offset,
	       struct local *ret)
{
	struct locals *locals = locals_of(types);
	const struct scope_locals *known;

	if (!locals)
		return false;
	known = table_get(&locals->known, addr);
	if (!known)
		known = look_up(types, locals, addr);
	for (size_t i = 0; known && i < known->count; i++) {
		const struct local *local = &known->local[i];

		if (offset < local->offset ||
		    (uint64_t)offset - (uint64_t)local->offset >=
			    local->type->size)
			continue;
		*ret = *local;
		return true;
	}
	return false;
}
