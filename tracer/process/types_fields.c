/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/types_private.h"

enum { MAX_FIELDS = 8192, MAX_BIT_FIELD = 128, MAX_VARIANTS = 4 };

/*
 * A virtual base's place is an expression of the object's address: dup,
 * deref, const k, minus, deref, plus.  @ret is k.
 */
static bool virtual_place(Dwarf_Attribute *attribute, uint64_t *ret)
{
	static const uint8_t atom[] = { DW_OP_dup,   DW_OP_deref, 0,
					DW_OP_minus, DW_OP_deref, DW_OP_plus };
	Dwarf_Op *op;
	size_t count;

	if (dwarf_getlocation(attribute, &op, &count) != 0 ||
	    count != ARRAY_SIZE(atom))
		return false;
	for (size_t i = 0; i < count; i++)
		if (atom[i] && op[i].atom != atom[i])
			return false;
	switch (op[2].atom) {
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_constu:
		*ret = op[2].number;
		return true;
	default:
		if (op[2].atom < DW_OP_lit0 || op[2].atom > DW_OP_lit31)
			return false;
		*ret = op[2].atom - DW_OP_lit0;
		return true;
	}
}

/* Where in the class, of which it says nothing in a union. */
static bool place_of(Dwarf_Die *die, struct field *field)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	Dwarf_Op *op;
	size_t count;

	if (!dwarf_attr(die, DW_AT_data_member_location, &attribute))
		return field->kind == FIELD_MEMBER;
	if (field->kind == FIELD_VIRTUAL)
		return virtual_place(&attribute, &field->offset);
	if (dwarf_formudata(&attribute, &value) == 0) {
		field->offset = value;
		return value <= MAX_TYPE_SIZE;
	}
	if (dwarf_getlocation(&attribute, &op, &count) != 0 || count != 1 ||
	    op->atom != DW_OP_plus_uconst || op->number > MAX_TYPE_SIZE)
		return false;
	field->offset = op->number;
	return true;
}

/* To the bytes that a bit field touches; before DWARF 4 counted from above. */
static bool to_bits(Dwarf_Die *die, struct field *field)
{
	uint64_t bits, first, storage = field->size;

	if (!die_number(die, DW_AT_bit_size, &bits))
		return true;
	if (!bits || bits > MAX_BIT_FIELD)
		return false;
	if (die_number(die, DW_AT_data_bit_offset, &first)) {
		if (first / 8 > MAX_TYPE_SIZE)
			return false;
		field->offset = 0;
	} else if (die_number(die, DW_AT_bit_offset, &first)) {
		die_number(die, DW_AT_byte_size, &storage);
		first = storage * 8 - first - bits;
		if (storage > 16 || first > storage * 8)
			return false;
	} else {
		first = 0;
	}
	field->bits = bits;
	field->size = (first % 8 + bits + 7) / 8;
	field->offset += first / 8;
	return true;
}

static bool to_field(struct types *types, Dwarf_Die *die, struct field *field)
{
	uint64_t virtuality = 0;

	*field = (struct field){ .kind = FIELD_MEMBER };
	if (dwarf_tag(die) == DW_TAG_inheritance) {
		die_number(die, DW_AT_virtuality, &virtuality);
		field->kind = virtuality ? FIELD_VIRTUAL : FIELD_BASE;
	} else if (die_flag(die, DW_AT_external) ||
		   die_flag(die, DW_AT_declaration) ||
		   dwarf_hasattr(die, DW_AT_const_value)) {
		return false; /* static */
	}
	field->type = types_type_of(types, die);
	if (!field->type || !place_of(die, field))
		return false;
	field->size = field->type->size;
	if (field->kind != FIELD_MEMBER)
		return true;
	field->name = dwarf_diename(die);
	if (field->name && !*field->name)
		field->name = NULL;
	field->vptr = field->name && !strncmp(field->name, "_vptr", 5) &&
		      die_flag(die, DW_AT_artificial);
	/* A union that has no name, or bits between others */
	if (!field->name && field->type->kind != TYPE_CLASS)
		return false;
	return to_bits(die, field);
}

/* Appends; false: no more. */
static bool add_field(struct type *type, const struct field *field)
{
	if ((type->fields & (type->fields - 1)) == 0) {
		size_t n = type->fields ? 2 * type->fields : 1;
		struct field *bigger =
			reallocarray(type->field, n, sizeof(*bigger));

		if (!bigger)
			return false;
		type->field = bigger;
	}
	type->field[type->fields++] = *field;
	return type->fields < MAX_FIELDS;
}

/* Members of Rust's enums lie in variants, one over the other. */
static bool add_fields(struct entry *entry, Dwarf_Die *die, int depth)
{
	Dwarf_Die child;
	bool more = depth < MAX_VARIANTS && die_child(die, &child);
	struct field field;

	for (; more; more = die_next(&child)) {
		switch (dwarf_tag(&child)) {
		case DW_TAG_member:
		case DW_TAG_inheritance:
			if (to_field(entry->types, &child, &field) &&
			    !add_field(&entry->type, &field))
				return false;
			break;
		case DW_TAG_variant_part:
		case DW_TAG_variant:
			if (!add_fields(entry, &child, depth + 1))
				return false;
			break;
		default:
			break;
		}
	}
	return true;
}

void types_fields(struct entry *entry)
{
	add_fields(entry, &entry->die, 0);
}
