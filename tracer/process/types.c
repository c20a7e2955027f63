/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/types_private.h"

enum { MAX_NESTED = 64 };

bool die_number(Dwarf_Die *die, unsigned key, uint64_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(die, key, &attribute) ||
	    dwarf_formudata(&attribute, &value) != 0)
		return false;
	*ret = value;
	return true;
}

bool die_flag(Dwarf_Die *die, unsigned key)
{
	Dwarf_Attribute attribute;
	bool value = false;

	return dwarf_attr(die, key, &attribute) &&
	       dwarf_formflag(&attribute, &value) == 0 && value;
}

bool die_child(Dwarf_Die *die, Dwarf_Die *ret)
{
	return dwarf_child(die, ret) == 0;
}

/* What a file says of the next one's place may lead back. */
bool die_next(Dwarf_Die *die)
{
	const void *before = die->addr;

	return dwarf_siblingof(die, die) == 0 &&
	       (uintptr_t)die->addr > (uintptr_t)before;
}

static bool follow(Dwarf_Die *die, unsigned key, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, key, &attribute) &&
	       dwarf_formref_die(&attribute, ret);
}

/* Through typedefs, qualifiers, and to the unit that defines it. */
static bool peel(Dwarf_Die *die)
{
	for (int i = 0; i < MAX_CHAIN; i++) {
		Dwarf_Die next;

		switch (dwarf_tag(die)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_immutable_type:
		case DW_TAG_shared_type:
			if (!follow(die, DW_AT_type, &next))
				return false;
			break;
		default:
			/* A stand-in for what another unit defines */
			if (!dwarf_hasattr(die, DW_AT_signature))
				return true;
			if (!follow(die, DW_AT_signature, &next))
				return false;
		}
		*die = next;
	}
	return false;
}

static uint64_t bound_of(Dwarf_Die *range)
{
	uint64_t count = 0, lower = 0;

	if (die_number(range, DW_AT_count, &count))
		return count;
	if (!die_number(range, DW_AT_upper_bound, &count))
		return 0;
	die_number(range, DW_AT_lower_bound, &lower);
	return count - lower + 1;
}

/* Dimensions, and the size if all are known. */
static void measure_array(struct entry *entry, Dwarf_Die *die)
{
	struct type *type = &entry->type, *element = type_target(type);
	uint64_t size = element ? element->size : 0;
	Dwarf_Die range;
	bool more = die_child(die, &range);

	for (; more; more = die_next(&range)) {
		uint64_t count;

		if (dwarf_tag(&range) != DW_TAG_subrange_type &&
		    dwarf_tag(&range) != DW_TAG_enumeration_type)
			continue;
		if (type->dimensions == TYPE_DIMENSIONS) {
			type->kind = TYPE_PLAIN;
			break;
		}
		count = bound_of(&range);
		/* Of a wrong count, as of none, is no end known. */
		if (count > MAX_TYPE_SIZE ||
		    __builtin_mul_overflow(size, count, &size) ||
		    size > MAX_TYPE_SIZE)
			count = size = 0;
		type->dimension[type->dimensions++] = count;
	}
	if (!element || !element->size || !type->dimensions)
		type->kind = TYPE_PLAIN;
	if (!type->size)
		type->size = size;
}

static void measure(struct entry *entry)
{
	struct type *type = &entry->type;
	Dwarf_Die *die = &entry->die;

	die_number(die, DW_AT_byte_size, &type->size);
	if (type->size > MAX_TYPE_SIZE)
		type->size = 0;
	type->name = dwarf_diename(die);
	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		type->kind = TYPE_CLASS;
		break;
	case DW_TAG_array_type:
		type->kind = TYPE_ARRAY;
		measure_array(entry, die);
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		type->kind = TYPE_POINTER;
		type->size = 8;
		break;
	default:
		type->kind = TYPE_PLAIN;
	}
}

struct type *types_of_die(struct types *types, Dwarf_Die *die)
{
	struct entry *entry;

	if (!peel(die) || types->nested == MAX_NESTED)
		return NULL;
	entry = table_get(&types->known, (uintptr_t)die->addr);
	if (entry)
		return &entry->type;
	if (types->known.count >= MAX_TYPES)
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->types = types;
	entry->die = *die;
	if (table_put(&types->known, (uintptr_t)die->addr, entry) < 0) {
		free(entry);
		return NULL;
	}
	/* An array of itself finds what is not measured yet. */
	types->nested++;
	measure(entry);
	types->nested--;
	return &entry->type;
}

struct type *types_type_of(struct types *types, Dwarf_Die *die)
{
	Dwarf_Die type;

	if (!follow(die, DW_AT_type, &type))
		return NULL;
	return types_of_die(types, &type);
}

struct type *type_target(struct type *type)
{
	struct entry *entry = (struct entry *)type;

	if (type->kind != TYPE_POINTER && type->kind != TYPE_ARRAY)
		return NULL;
	if (!entry->targeted)
		entry->target = types_type_of(entry->types, &entry->die);
	entry->targeted = true;
	return entry->target;
}

struct type *type_argument(struct type *type, unsigned number)
{
	struct entry *entry = (struct entry *)type;
	Dwarf_Die child;
	bool more = type->kind == TYPE_CLASS && die_child(&entry->die, &child);

	for (; more; more = die_next(&child)) {
		int tag = dwarf_tag(&child);

		if (tag != DW_TAG_template_type_parameter &&
		    tag != DW_TAG_template_value_parameter)
			continue;
		if (number-- == 0)
			return tag == DW_TAG_template_type_parameter
				       ? types_type_of(entry->types, &child)
				       : NULL;
	}
	return NULL;
}

bool type_load(struct type *type)
{
	struct entry *entry = (struct entry *)type;

	if (type->kind != TYPE_CLASS)
		return false;
	if (!entry->loaded)
		types_fields(entry);
	entry->loaded = true;
	return type->fields > 0;
}

struct types *types_new(struct Dwarf *dwarf)
{
	struct types *types = calloc(1, sizeof(*types));

	if (types)
		types->dwarf = dwarf;
	return types;
}

void types_free(struct types *types)
{
	if (!types)
		return;
	table_for_each(&types->known, slot)
	{
		struct entry *entry = slot->value;

		free(entry->type.field);
		free(entry);
	}
	table_done(&types->known);
	index_free(types->index);
	locals_free(types->locals);
	free(types);
}
